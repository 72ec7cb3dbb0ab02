import { ActionIcon, Button } from '@mantine/core'
import { IconLogin2, IconPlus, IconRefresh, IconTrash } from '@tabler/icons-react'
import { useState } from 'react'
import { act, useAsk } from '@/lib/ask'
import { exactTime } from '@/lib/format'
import { useLive, useRenew } from '@/lib/live'
import { useNow } from '@/lib/time'
import { Ago } from '@/parts/Ago'
import { Confirm } from '@/parts/Confirm'
import { Modal } from '@/parts/Dialog'
import { Chip, Quiet, Row, Rows, Section } from '@/parts/Listing'
import { LoginDialog } from '@/parts/LoginDialog'
import { LoginForm, type WantedLogin } from '@/parts/LoginForm'
import { ErrorState, LoadingRows } from '@/parts/states'
import { Tip } from '@/parts/Tip'
import type { AuthEntry } from '@/protocol/types'
import { daemon } from '@/state/daemon'

export function Logins() {
  const auth = useAsk('auth.list', {})
  const config = useAsk('config.show', {})
  const [wanted, setWanted] = useState<WantedLogin | 'new' | null>(null)
  const renew = useRenew('auth.list', 'models.list', 'config.show', 'setup.look')
  useLive(['login.required'], 'auth.list')
  const entries = new Map(
    (auth.data?.entries ?? []).filter(({ kind }) => kind === 'oauth').map((one) => [one.name, one]),
  )
  const offered = (config.data?.values ?? []).flatMap(
    ({ key }) => /^providers\.([^.]+)\.oauth\.client_id$/.exec(key)?.[1] ?? [],
  )
  const close = () => setWanted(null)
  const add = (
    <Button size="xs" variant="default" leftSection={<IconPlus size={16} />} onClick={() => setWanted('new')}>
      Log in to a provider
    </Button>
  )
  const names = [...new Set([...entries.keys(), ...offered])].sort()
  return (
    <Section
      title="Logins"
      about="For providers that are used with an account in place of a key. The daemon renews a login before it ends."
      actions={names.length > 0 && add}
    >
      {auth.isPending || config.isPending ? (
        <LoadingRows count={1} height={52} />
      ) : auth.error || config.error ? (
        <ErrorState problem={auth.error ?? config.error} retry={() => void auth.refetch()} />
      ) : names.length === 0 ? (
        <Quiet action={add}>No provider is used with a login yet.</Quiet>
      ) : (
        <Rows label="Logins">
          {names.map((name) => (
            <LoginRow key={name} name={name} entry={entries.get(name)} start={() => setWanted({ provider: name })} />
          ))}
        </Rows>
      )}
      <Modal
        opened={wanted !== null}
        onClose={close}
        title={wanted === 'new' || !wanted ? 'Log in to a provider' : `Log in to ${wanted.provider}`}
        size="lg"
      >
        {wanted === 'new' ? (
          <LoginForm begin={setWanted} leave={close} />
        ) : (
          wanted && (
            <LoginDialog
              begin={() => daemon.request('auth.login', wanted)}
              finish={(login, answer) => daemon.request('auth.login.finish', { login, answer })}
              ended={renew}
              done={close}
            />
          )
        )}
      </Modal>
    </Section>
  )
}

function LoginRow({ name, entry, start }: { name: string; entry: AuthEntry | undefined; start: () => void }) {
  const renew = useRenew('auth.list')
  const [removing, setRemoving] = useState(false)
  const now = useNow(10_000)
  const ended = entry?.expires_at != null && entry.expires_at < now
  return (
    <Row
      name={name}
      chips={
        entry?.dead ? (
          <Chip tone="warn">log in again</Chip>
        ) : entry ? (
          <Chip tone={ended ? 'warn' : 'good'}>{ended ? 'to be renewed' : 'logged in'}</Chip>
        ) : (
          <Chip>not logged in</Chip>
        )
      }
      about={
        entry?.dead ? (
          <>The provider no longer renews it: {entry.dead}</>
        ) : entry?.expires_at ? (
          <>
            Access until <span className="mono">{exactTime(entry.expires_at)}</span>, then renewed by itself
          </>
        ) : entry ? (
          'Access without an end'
        ) : (
          'Opens the provider’s own page in your browser'
        )
      }
      figures={
        entry?.last_used_at && (
          <span>
            used <Ago at={entry.last_used_at} />
          </span>
        )
      }
      actions={
        entry && !entry.dead ? (
          <>
            <Tip label="Renew now">
              <ActionIcon
                variant="subtle"
                color="gray"
                aria-label={`Renew the login to ${name}`}
                onClick={() => void act('auth.refresh', { provider: name }).then(renew)}
              >
                <IconRefresh size={16} />
              </ActionIcon>
            </Tip>
            <Tip label="Delete">
              <ActionIcon
                variant="subtle"
                color="gray"
                aria-label={`Delete the login to ${name}`}
                onClick={() => setRemoving(true)}
              >
                <IconTrash size={16} />
              </ActionIcon>
            </Tip>
          </>
        ) : (
          <Button size="compact-sm" leftSection={<IconLogin2 size={14} />} onClick={start}>
            Log in<span className="visually-hidden"> to {name}</span>
          </Button>
        )
      }
    >
      <Confirm
        opened={removing}
        close={() => setRemoving(false)}
        title={`Delete the login to ${name}?`}
        action="Delete"
        run={async () => {
          await act('auth.remove', { name })
          await renew()
        }}
      >
        The login is given back to the provider, where it offers that, and forgotten here.
      </Confirm>
    </Row>
  )
}
