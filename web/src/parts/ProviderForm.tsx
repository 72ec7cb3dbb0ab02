import { PasswordInput, Select, TextInput } from '@mantine/core'
import { useState } from 'react'
import { useRenew } from '@/lib/live'
import type { ProviderAdded, ProvidersAdd } from '@/protocol/types'
import { daemon } from '@/state/daemon'
import { Form } from './Form'

type Kind = NonNullable<ProvidersAdd['kind']>

const KINDS: { value: Kind; label: string }[] = [
  { value: 'compatible', label: 'OpenAI-compatible: Ollama, vLLM, llama.cpp, LM Studio, most others' },
  { value: 'openai', label: 'OpenAI (Responses)' },
  { value: 'anthropic', label: 'Anthropic' },
  { value: 'gemini', label: 'Google Gemini' },
  { value: 'azure', label: 'Azure OpenAI' },
]

export interface KnownProvider {
  name: string
  kind: Kind
  url: string
}

/** A provider at an address of one's own. It is asked for its models, and kept only if it answers. */
export function ProviderForm(props: {
  edited?: KnownProvider
  taken?: string[]
  added: (provider: ProviderAdded) => Promise<void> | void
  leave: () => void
}) {
  const renew = useRenew('config.show', 'models.list', 'auth.list', 'setup.show', 'setup.look')
  const [name, setName] = useState(props.edited?.name ?? '')
  const [url, setUrl] = useState(props.edited?.url ?? '')
  const [kind, setKind] = useState<Kind>(props.edited?.kind ?? 'compatible')
  const [key, setKey] = useState('')
  const taken = !props.edited && props.taken?.includes(name.trim())
  const save = async () => {
    const fields = { name: name.trim(), base_url: url.trim(), kind, key, replace: props.edited !== undefined }
    const added = await daemon.request('providers.add', fields)
    await renew()
    await props.added(added)
  }
  return (
    <Form
      work={save}
      action="Try and save"
      ready={name.trim() !== '' && url.trim() !== '' && !taken}
      leave={props.leave}
    >
      <TextInput
        label="Name"
        description="It stands before the slash of its models: office/qwen3."
        placeholder="office"
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
        disabled={props.edited !== undefined}
        error={taken ? 'There is a provider of this name already.' : undefined}
        classNames={{ input: 'mono' }}
        required
        data-autofocus
      />
      <TextInput
        label="Address"
        description="Its base URL, as the daemon's machine reaches it."
        placeholder="http://127.0.0.1:8000/v1"
        value={url}
        onChange={(event) => setUrl(event.currentTarget.value)}
        classNames={{ input: 'mono' }}
        required
      />
      <Select
        label="What it speaks"
        data={KINDS}
        value={kind}
        onChange={(value) => setKind((value ?? 'compatible') as Kind)}
        allowDeselect={false}
      />
      <PasswordInput
        label="Key"
        description={props.edited ? 'Empty: the one that is kept, or none.' : 'Empty: it needs none.'}
        value={key}
        onChange={(event) => setKey(event.currentTarget.value)}
        autoComplete="off"
        classNames={{ innerInput: 'mono' }}
        visibilityToggleButtonProps={{ 'aria-label': 'Show or hide the key' }}
      />
    </Form>
  )
}
