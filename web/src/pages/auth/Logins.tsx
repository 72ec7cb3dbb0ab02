import { ActionIcon, Button, Modal, TextInput } from '@mantine/core'
import { IconExternalLink, IconLogin2, IconRefresh, IconTrash } from '@tabler/icons-react'
import { useCallback, useEffect, useState } from 'react'
import { act, useAsk } from '@/lib/ask'
import { exactTime } from '@/lib/format'
import { useLive, useRenew } from '@/lib/live'
import { useNow } from '@/lib/time'
import { Ago } from '@/parts/Ago'
import { Confirm } from '@/parts/Confirm'
import { Chip, Quiet, Row, Rows, Section } from '@/parts/Listing'
import { CopyButton } from '@/parts/Markdown'
import { ErrorState, LoadingRows } from '@/parts/states'
import { Tip } from '@/parts/Tip'
import type { AuthEntry, LoginStarted } from '@/protocol/types'
import { daemon } from '@/state/daemon'

export function Logins() {
  const auth = useAsk('auth.list', {})
  const config = useAsk('config.show', {})
  const [wanted, setWanted] = useState('')
  useLive(['login.required'], 'auth.list')
  const entries = new Map(
    (auth.data?.entries ?? []).filter(({ kind }) => kind === 'oauth').map((one) => [one.name, one]),
  )
  const offered = (config.data?.values ?? []).flatMap(
    ({ key }) => /^providers\.([^.]+)\.oauth\.client_id$/.exec(key)?.[1] ?? [],
  )
  const names = [...new Set([...entries.keys(), ...offered])].sort()
  return (
    <Section
      title="Logins"
      about="For providers that are used with an account in place of a key. The daemon renews a login before it ends."
    >
      {auth.isPending || config.isPending ? (
        <LoadingRows count={1} height={52} />
      ) : auth.error || config.error ? (
        <ErrorState problem={auth.error ?? config.error} retry={() => void auth.refetch()} />
      ) : names.length === 0 ? (
        <Quiet>
          No provider is set up for logging in. Give one <code>auth = "oauth"</code> and its{' '}
          <code>[providers.NAME.oauth]</code> in your configuration file, and it shows up here.
        </Quiet>
      ) : (
        <Rows label="Logins">
          {names.map((name) => (
            <LoginRow key={name} name={name} entry={entries.get(name)} start={() => setWanted(name)} />
          ))}
        </Rows>
      )}
      <Modal opened={wanted !== ''} onClose={() => setWanted('')} title={`Log in to ${wanted}`} size="lg" centered>
        {wanted && <LoginDialog provider={wanted} done={() => setWanted('')} />}
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
        entry ? (
          <Chip tone={ended ? 'warn' : 'good'}>{ended ? 'to be renewed' : 'logged in'}</Chip>
        ) : (
          <Chip>not logged in</Chip>
        )
      }
      about={
        entry?.expires_at ? (
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
        entry ? (
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

function LoginDialog({ provider, done }: { provider: string; done: () => void }) {
  const renew = useRenew('auth.list', 'models.list')
  const [login, setLogin] = useState<LoginStarted | null>(null)
  const [answer, setAnswer] = useState('')
  const [problem, setProblem] = useState('')
  const [busy, setBusy] = useState(false)

  const ended = useCallback(async () => {
    await renew()
    done()
  }, [renew, done])

  const start = useCallback(async () => {
    setProblem('')
    setLogin(null)
    try {
      const started = await daemon.request('auth.login', { provider })
      setLogin(started)
      // Answered when the browser has come back to the daemon, or the code was pasted.
      await daemon.request('auth.login.finish', { login: started.login })
      await ended()
    } catch (refused) {
      setProblem(refused instanceof Error ? refused.message : String(refused))
    }
  }, [provider, ended])
  // biome-ignore lint/correctness/useExhaustiveDependencies: one login per opened dialog
  useEffect(() => void start(), [provider])

  const paste = async () => {
    if (!login) return
    setBusy(true)
    try {
      await daemon.request('auth.login.finish', { login: login.login, answer: answer.trim() })
    } catch (refused) {
      setProblem(refused instanceof Error ? refused.message : String(refused))
    }
    setBusy(false)
  }

  if (problem)
    return (
      <div className="form">
        <p className="form-problem" role="alert">
          {problem}
        </p>
        <div className="form-actions">
          <Button variant="default" onClick={done}>
            Close
          </Button>
          <Button onClick={() => void start()}>Start again</Button>
        </div>
      </div>
    )
  if (!login) return <LoadingRows count={2} height={40} />
  return (
    <form
      className="form"
      onSubmit={(event) => {
        event.preventDefault()
        void paste()
      }}
    >
      <ol className="auth-steps">
        <li>
          <p>Open this address and say yes there. On another device, copy it.</p>
          <div className="auth-address">
            <TextInput
              aria-label="Address to open"
              readOnly
              value={login.url}
              classNames={{ input: 'mono' }}
              onFocus={(event) => event.currentTarget.select()}
              rightSection={<CopyButton text={login.url} />}
            />
            <Button
              component="a"
              href={login.url}
              target="_blank"
              rel="noopener noreferrer"
              leftSection={<IconExternalLink size={14} />}
            >
              Open
            </Button>
          </div>
        </li>
        <li>
          <p>
            This closes by itself when the browser is on the daemon’s machine. Elsewhere, paste the code, or the whole
            address that the browser ends at.
          </p>
          <div className="auth-address">
            <TextInput
              aria-label="Code or address"
              placeholder="Code or address"
              value={answer}
              onChange={(event) => setAnswer(event.currentTarget.value)}
              classNames={{ input: 'mono' }}
              autoComplete="off"
            />
            <Button type="submit" variant="default" loading={busy} disabled={!answer.trim()}>
              Finish
            </Button>
          </div>
        </li>
      </ol>
      <Waiting until={login.expires_at} />
    </form>
  )
}

function Waiting({ until }: { until: number }) {
  const now = useNow(1000)
  const left = Math.max(0, Math.round(until - now))
  return (
    <p className="field-hint" role="status">
      <span className="auth-dot" aria-hidden /> Waiting for the provider;{' '}
      <span className="mono">
        {Math.floor(left / 60)}:{String(left % 60).padStart(2, '0')}
      </span>{' '}
      left
    </p>
  )
}
