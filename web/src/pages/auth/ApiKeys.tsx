import { ActionIcon, Button, PasswordInput, Select, TextInput } from '@mantine/core'
import { IconKey, IconPlus, IconTrash } from '@tabler/icons-react'
import { Link } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import { act, useAsk } from '@/lib/ask'
import { duration } from '@/lib/format'
import { useRenew } from '@/lib/live'
import { Ago } from '@/parts/Ago'
import { Confirm } from '@/parts/Confirm'
import { Modal } from '@/parts/Dialog'
import { Form } from '@/parts/Form'
import { vendors, whose } from '@/parts/keys'
import { Chip, Row, Rows, Section } from '@/parts/Listing'
import { EmptyState, ErrorState, LoadingRows } from '@/parts/states'
import { Tip } from '@/parts/Tip'
import type { AuthEntry, ModelTest } from '@/protocol/types'
import { daemon } from '@/state/daemon'
import { ownProviders } from './own-providers'

export function ApiKeys() {
  const auth = useAsk('auth.list', {})
  const [adding, setAdding] = useState(false)
  const keys = auth.data?.entries.filter(({ kind }) => kind === 'api_key') ?? []
  // What is the default is left off the wire: a key without a place is in the vault.
  const kept = keys.filter(({ source }) => (source ?? 'vault') === 'vault').map(({ name }) => name)
  const add = (
    <Button size="xs" leftSection={<IconPlus size={16} />} onClick={() => setAdding(true)}>
      Add a key
    </Button>
  )
  return (
    <Section
      title="API keys"
      about="Kept encrypted by the daemon and sent to their provider alone. A key can be replaced, not read back."
      actions={keys.length > 0 && add}
    >
      {auth.isPending ? (
        <LoadingRows count={2} height={52} />
      ) : auth.error ? (
        <ErrorState problem={auth.error} retry={() => void auth.refetch()} />
      ) : keys.length === 0 ? (
        <div className="panel auth-empty">
          <EmptyState icon={<IconKey size={24} />} title="No keys yet" action={add}>
            An agent needs a model, and most models need a key. Paste the one your provider gave you, or{' '}
            <Link to="/welcome">see what else could answer</Link>.
          </EmptyState>
        </div>
      ) : (
        <Rows label="API keys">
          {keys.map((entry) => (
            <KeyRow key={`${entry.source}-${entry.name}`} entry={entry} />
          ))}
        </Rows>
      )}
      <Modal opened={adding} onClose={() => setAdding(false)} title="Add a key">
        <KeyForm taken={kept} done={() => setAdding(false)} />
      </Modal>
    </Section>
  )
}

/** `anthropic@work` is another key of `anthropic`. */
const providerOf = (name: string) => name.split('@')[0]!

const SOURCES = {
  vault: 'In the vault',
  config: 'From the configuration file',
  environment: 'From the environment',
} as const

function KeyRow({ entry }: { entry: AuthEntry }) {
  const renew = useRenew('auth.list', 'models.list', 'setup.show', 'daemon.status')
  const [removing, setRemoving] = useState(false)
  const [replacing, setReplacing] = useState(false)
  const [test, setTest] = useState<ModelTest | 'running' | null>(null)
  const source = entry.source ?? 'vault'
  const tryIt = async () => {
    setTest('running')
    const answer = await act('models.test', { name: providerOf(entry.name) })
    setTest(answer?.tests[0] ?? null)
  }
  return (
    <Row
      name={entry.name}
      chips={
        <>
          <Chip>{source}</Chip>
          {entry.dead && <Chip tone="warn">no longer works</Chip>}
        </>
      }
      about={<TestWords test={test} otherwise={entry.dead || SOURCES[source]} />}
      figures={
        <>
          <span className="mono auth-mask" role="img" aria-label="hidden">
            ••••••••
          </span>
          {source === 'vault' && (
            <span className="auth-use">
              {entry.last_used_at ? (
                <>
                  used <Ago at={entry.last_used_at} />
                </>
              ) : (
                'never used'
              )}
            </span>
          )}
        </>
      }
      actions={
        <>
          <Button size="compact-sm" variant="default" loading={test === 'running'} onClick={() => void tryIt()}>
            Test<span className="visually-hidden"> the key for {entry.name}</span>
          </Button>
          {source === 'vault' && (
            <Button size="compact-sm" variant="default" onClick={() => setReplacing(true)}>
              Replace<span className="visually-hidden"> the key for {entry.name}</span>
            </Button>
          )}
          {source === 'vault' && (
            <Tip label="Delete">
              <ActionIcon
                variant="subtle"
                color="gray"
                aria-label={`Delete the key for ${entry.name}`}
                onClick={() => setRemoving(true)}
              >
                <IconTrash size={16} />
              </ActionIcon>
            </Tip>
          )}
        </>
      }
    >
      <Modal
        opened={replacing}
        onClose={() => setReplacing(false)}
        title={`Another key for ${entry.name}`}
        keepMounted={false}
      >
        <KeyForm replaced={entry.name} taken={[entry.name]} done={() => setReplacing(false)} />
      </Modal>
      <Confirm
        opened={removing}
        close={() => setRemoving(false)}
        title={`Delete the key for ${entry.name}?`}
        action="Delete"
        run={async () => {
          await act('auth.remove', { name: entry.name })
          await renew()
        }}
      >
        Sessions that use {entry.name} fail from their next request on. The key itself stays valid at the provider until
        you revoke it there.
      </Confirm>
    </Row>
  )
}

export function TestWords({ test, otherwise }: { test: ModelTest | 'running' | null; otherwise: ReactNode }) {
  if (test === 'running') return <span role="status">Asking for one token …</span>
  if (test === null) return otherwise
  if (test.error)
    return (
      <span className="bad" role="status">
        {test.error.message} {test.error.hint}
      </span>
    )
  return (
    <span className="good" role="status">
      Works: {test.model} answered in <span className="mono">{duration(test.latency_ms ?? 0)}</span>
    </span>
  )
}

function KeyForm({ replaced, taken, done }: { replaced?: string; taken: string[]; done: () => void }) {
  const look = useAsk('setup.look', {}, { staleTime: 60_000 })
  const config = useAsk('config.show', {})
  const renew = useRenew('auth.list', 'models.list', 'setup.show', 'setup.look', 'daemon.status')
  const [chosen, setChosen] = useState(replaced ? providerOf(replaced) : '')
  const [key, setKey] = useState('')
  const [label, setLabel] = useState('')
  const looks = look.data?.looks ?? []
  const known = whose(looks, key)
  const provider = chosen || known?.provider || ''
  const titles = new Map(vendors(looks).map(({ value, label }) => [value, label]))
  const others = ownProviders(config.data?.values ?? []).filter(({ name }) => !titles.has(name))
  const name = replaced ?? (label.trim() ? `${provider}@${label.trim()}` : provider)
  const replaces = taken.includes(name)
  const keep = async () => {
    await daemon.request('auth.add', { name, key, replace: replaces, test: true })
    await renew()
    done()
  }
  return (
    <Form
      work={keep}
      action={replaces ? 'Try and replace' : 'Try and keep'}
      ready={provider !== '' && key.trim() !== ''}
      leave={done}
    >
      <PasswordInput
        label="Key"
        description="It is tried with a question that costs nothing. A key that is refused is not kept."
        value={key}
        onChange={(event) => setKey(event.currentTarget.value)}
        required
        autoComplete="off"
        spellCheck={false}
        data-autofocus
        classNames={{ innerInput: 'mono' }}
        visibilityToggleButtonProps={{ 'aria-label': 'Show or hide the key' }}
      />
      <Select
        label="Provider"
        description={known && !chosen ? 'Told by the beginning of the key.' : undefined}
        placeholder={look.isPending ? 'Looking …' : 'Told by the key, or chosen here'}
        data={[
          { group: 'Vendors', items: [...titles].map(([value, label]) => ({ value, label })) },
          { group: 'Your own', items: others.map(({ name }) => ({ value: name, label: name })) },
        ].filter(({ items }) => items.length > 0)}
        value={provider || null}
        onChange={(value) => setChosen(value ?? '')}
        disabled={replaced !== undefined}
        searchable
        required
      />
      {!replaced && taken.some((each) => providerOf(each) === provider) && (
        <TextInput
          label="Name"
          description={`There is a key for ${provider} already. With a name this one is kept beside it, and goes on where it is refused or used up; without, it takes its place.`}
          placeholder="work"
          value={label}
          onChange={(event) => setLabel(event.currentTarget.value)}
          classNames={{ input: 'mono' }}
        />
      )}
    </Form>
  )
}
