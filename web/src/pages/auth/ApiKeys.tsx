import { ActionIcon, Autocomplete, Button, Modal, PasswordInput } from '@mantine/core'
import { IconKey, IconPlus, IconTrash } from '@tabler/icons-react'
import { useState } from 'react'
import { act, useAsk } from '@/lib/ask'
import { duration } from '@/lib/format'
import { useRenew } from '@/lib/live'
import { Ago } from '@/parts/Ago'
import { Confirm } from '@/parts/Confirm'
import { Form } from '@/parts/Form'
import { Chip, Row, Rows, Section } from '@/parts/Listing'
import { EmptyState, ErrorState, LoadingRows } from '@/parts/states'
import { Tip } from '@/parts/Tip'
import type { AuthEntry, ModelTest } from '@/protocol/types'
import { daemon } from '@/state/daemon'

const KNOWN_PROVIDERS = ['anthropic', 'gemini', 'openai', 'openrouter']

export function ApiKeys() {
  const auth = useAsk('auth.list', {})
  const [adding, setAdding] = useState(false)
  const keys = auth.data?.entries.filter(({ kind }) => kind === 'api_key') ?? []
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
            An agent needs a model, and most models need a key. Paste the one your provider gave you.
          </EmptyState>
        </div>
      ) : (
        <Rows label="API keys">
          {keys.map((entry) => (
            <KeyRow key={`${entry.source}-${entry.name}`} entry={entry} />
          ))}
        </Rows>
      )}
      <Modal opened={adding} onClose={() => setAdding(false)} title="Add a key" centered>
        <AddKey
          taken={keys.filter(({ source }) => source === 'vault').map(({ name }) => name)}
          done={() => setAdding(false)}
        />
      </Modal>
    </Section>
  )
}

const SOURCES = {
  vault: 'In the vault',
  config: 'From the configuration file',
  environment: 'From the environment',
} as const

function KeyRow({ entry }: { entry: AuthEntry }) {
  const renew = useRenew('auth.list', 'models.list')
  const [removing, setRemoving] = useState(false)
  const [test, setTest] = useState<ModelTest | 'running' | null>(null)
  const source = entry.source ?? 'vault'
  const tryIt = async () => {
    setTest('running')
    const answer = await act('models.test', { name: entry.name })
    setTest(answer?.tests[0] ?? null)
  }
  return (
    <Row
      name={entry.name}
      chips={<Chip>{source}</Chip>}
      about={<TestWords test={test} otherwise={SOURCES[source]} />}
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

function TestWords({ test, otherwise }: { test: ModelTest | 'running' | null; otherwise: string }) {
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

function AddKey({ taken, done }: { taken: string[]; done: () => void }) {
  const config = useAsk('config.show', {})
  const renew = useRenew('auth.list', 'models.list')
  const [name, setName] = useState('')
  const [key, setKey] = useState('')
  const configured = (config.data?.values ?? []).flatMap(({ key }) => /^providers\.([^.]+)\.kind$/.exec(key)?.[1] ?? [])
  const known = [...new Set([...configured, ...KNOWN_PROVIDERS])].sort()
  const replaces = taken.includes(name.trim())
  const add = async () => {
    await daemon.request('auth.add', { name: name.trim(), key, replace: replaces })
    await renew()
    done()
  }
  return (
    <Form work={add} action={replaces ? 'Replace' : 'Add'} ready={name.trim() !== '' && key.trim() !== ''} leave={done}>
      <Autocomplete
        label="Provider"
        description="As it is called before the slash of a model's name."
        placeholder="anthropic"
        data={known}
        value={name}
        onChange={setName}
        required
        data-autofocus
      />
      <PasswordInput
        label="Key"
        value={key}
        onChange={(event) => setKey(event.currentTarget.value)}
        required
        autoComplete="off"
        classNames={{ innerInput: 'mono' }}
        visibilityToggleButtonProps={{ 'aria-label': 'Show or hide the key' }}
      />
      {replaces && <p className="field-hint">There is a key for {name.trim()} already: this one takes its place.</p>}
    </Form>
  )
}
