import { ActionIcon, Button, Menu } from '@mantine/core'
import { IconCheck, IconDots, IconPencil, IconPlus, IconTrash } from '@tabler/icons-react'
import { useState } from 'react'
import { act, useAsk } from '@/lib/ask'
import { useRenew } from '@/lib/live'
import { tell } from '@/lib/tell'
import { Confirm } from '@/parts/Confirm'
import { Modal } from '@/parts/Dialog'
import { Chip, Quiet, Row, Rows, Section } from '@/parts/Listing'
import { type KnownProvider, ProviderForm } from '@/parts/ProviderForm'
import { ErrorState, LoadingRows } from '@/parts/states'
import type { ModelTest } from '@/protocol/types'
import { TestWords } from './ApiKeys'
import { type OwnProvider, ownProviders } from './own-providers'

/** Servers at addresses of one's own: Ollama, vLLM, a proxy, whatever speaks one of the formats. */
export function Providers() {
  const config = useAsk('config.show', {})
  const setup = useAsk('setup.show', {})
  const [form, setForm] = useState<KnownProvider | 'new' | null>(null)
  const own = ownProviders(config.data?.values ?? [])
  const close = () => setForm(null)
  const add = (
    <Button size="xs" variant="default" leftSection={<IconPlus size={16} />} onClick={() => setForm('new')}>
      Add a provider
    </Button>
  )
  return (
    <Section
      title="Providers"
      about="Servers at an address of your own: Ollama, vLLM, a proxy, anything that speaks OpenAI’s format. Vendors need only a key."
      actions={own.length > 0 && add}
    >
      {config.isPending ? (
        <LoadingRows count={1} height={52} />
      ) : config.error ? (
        <ErrorState problem={config.error} retry={() => void config.refetch()} />
      ) : own.length === 0 ? (
        <Quiet action={add}>
          None is set up. One that runs on this machine is asked for its models when you add it.
        </Quiet>
      ) : (
        <Rows label="Providers">
          {own.map((provider) => (
            <ProviderRow
              key={provider.name}
              provider={provider}
              answers={setup.data?.model?.startsWith(`${provider.name}/`) ? setup.data.model : ''}
              edit={() => setForm({ ...provider, kind: provider.kind as KnownProvider['kind'] })}
            />
          ))}
        </Rows>
      )}
      <Modal
        opened={form !== null}
        onClose={close}
        title={form && form !== 'new' ? `Edit ${form.name}` : 'Add a provider'}
        size="lg"
        keepMounted={false}
      >
        <ProviderForm
          edited={form && form !== 'new' ? form : undefined}
          taken={own.map(({ name }) => name)}
          leave={close}
          added={({ name, models }) => {
            const said = models.length === 0 ? 'It answers, and lists no models.' : `It has ${models.join(', ')}.`
            tell({ tone: 'plain', title: `${name} is set up`, text: said.slice(0, 200) })
            close()
          }}
        />
      </Modal>
    </Section>
  )
}

const EDITED_HERE = ['compatible', 'openai', 'anthropic', 'gemini', 'azure']

function ProviderRow({ provider, answers, edit }: { provider: OwnProvider; answers: string; edit: () => void }) {
  const renew = useRenew('config.show', 'auth.list', 'models.list', 'setup.show', 'setup.look', 'daemon.status')
  const [test, setTest] = useState<ModelTest | 'running' | null>(null)
  const [removing, setRemoving] = useState(false)
  const tryIt = async () => {
    setTest('running')
    const answer = await act('models.test', { name: provider.name })
    setTest(answer?.tests[0] ?? null)
  }
  const use = async () => {
    if (await act('setup.use', { provider: provider.name })) await renew()
  }
  return (
    <Row
      name={provider.name}
      chips={
        <>
          <Chip>{provider.kind}</Chip>
          {answers && <Chip tone="good">answers new sessions</Chip>}
        </>
      }
      about={
        <TestWords test={test} otherwise={<span className="mono">{provider.url || 'at its usual address'}</span>} />
      }
      actions={
        <>
          <Button size="compact-sm" variant="default" loading={test === 'running'} onClick={() => void tryIt()}>
            Test<span className="visually-hidden"> {provider.name}</span>
          </Button>
          <Menu position="bottom-end">
            <Menu.Target>
              <ActionIcon variant="subtle" color="gray" aria-label={`More about ${provider.name}`}>
                <IconDots size={16} />
              </ActionIcon>
            </Menu.Target>
            <Menu.Dropdown>
              {!answers && (
                <Menu.Item leftSection={<IconCheck size={16} />} onClick={() => void use()}>
                  Let it answer new sessions
                </Menu.Item>
              )}
              {EDITED_HERE.includes(provider.kind) && (
                <Menu.Item leftSection={<IconPencil size={16} />} onClick={edit}>
                  Edit
                </Menu.Item>
              )}
              <Menu.Item color="red" leftSection={<IconTrash size={16} />} onClick={() => setRemoving(true)}>
                Remove
              </Menu.Item>
            </Menu.Dropdown>
          </Menu>
        </>
      }
    >
      <Confirm
        opened={removing}
        close={() => setRemoving(false)}
        title={`Remove ${provider.name}?`}
        action="Remove"
        run={async () => {
          await act('providers.remove', { name: provider.name })
          await renew()
        }}
      >
        It is taken out of your configuration, and its key out of the vault. Sessions that use it fail from their next
        request on.
      </Confirm>
    </Row>
  )
}
