import { Autocomplete, Button, Modal, Select, Textarea, TextInput } from '@mantine/core'
import { useNavigate } from '@tanstack/react-router'
import { useMemo, useState } from 'react'
import { act, useAsk } from '@/lib/ask'
import { MODES, type Mode, modeWords } from '@/lib/modes'
import type { SessionInfo } from '@/protocol/types'
import { useShell } from '@/shell/shell-state'
import { useOverview } from '@/state/overview'
import { Choice } from './Choice'
import './new-session.css'

export default function NewSession() {
  const opened = useShell((state) => state.newSession)
  const close = () => useShell.setState({ newSession: false })
  return (
    <Modal opened={opened} onClose={close} title="New session" size="lg" keepMounted={false}>
      <Form done={close} />
    </Modal>
  )
}

function Form({ done }: { done: () => void }) {
  const navigate = useNavigate()
  const cards = useOverview((state) => state.cards)
  const folders = useMemo(() => foldersByUse(Object.values(cards).map(({ info }) => info)), [cards])
  const status = useAsk('daemon.status', {})
  const models = useAsk('models.list', {}, { staleTime: 300_000 })
  const templates = useAsk('templates.list', {})
  const [template, setTemplate] = useState<string | null>(null)
  const [cwd, setCwd] = useState(folders[0] ?? '')
  const [model, setModel] = useState('')
  const [mode, setMode] = useState<Mode | 'configured'>('configured')
  const [name, setName] = useState('')
  const [message, setMessage] = useState('')
  const [busy, setBusy] = useState(false)

  const create = async () => {
    setBusy(true)
    const made = await act('session.create', {
      cwd,
      name,
      ...(template ? { template } : {}),
      settings: { ...(mode === 'configured' ? {} : { mode }), ...(model ? { model } : {}) },
    })
    setBusy(false)
    if (!made) return
    done()
    void navigate({ to: '/sessions/$id', params: { id: made.id } })
    if (message.trim()) void act('message.send', { session: made.id, text: message })
  }

  return (
    <form
      className="new-session"
      onSubmit={(event) => {
        event.preventDefault()
        void create()
      }}
    >
      <Autocomplete
        label="Directory"
        description="Where the agent works: an absolute path on the daemon's machine."
        placeholder="/home/me/project"
        data={folders}
        value={cwd}
        onChange={setCwd}
        openOnFocus={false}
        data-autofocus
        required
        classNames={{ input: 'mono' }}
      />
      <Autocomplete
        label="Model"
        placeholder={status.data?.model ? `${status.data.model} (as configured)` : 'provider/model'}
        data={models.data?.models.map((one) => one.name) ?? []}
        limit={50}
        openOnFocus={false}
        value={model}
        onChange={setModel}
        error={!status.isLoading && !status.data?.model && !model ? 'No model is configured: name one.' : undefined}
      />
      <div>
        <div className="field-label" aria-hidden>
          Mode
        </div>
        <Choice label="Mode" value={mode} choose={setMode} choices={['configured', ...MODES]} />
        <p className="field-hint">{mode === 'configured' ? 'As the settings or the template say.' : modeWords[mode]}</p>
      </div>
      <Select
        label="Template"
        placeholder="None"
        clearable
        searchable
        data={templates.data?.templates.map((one) => one.template.name) ?? []}
        value={template}
        onChange={setTemplate}
        description={templates.data?.templates.find((one) => one.template.name === template)?.template.description}
      />
      <TextInput
        label="Name"
        placeholder="Named after the first message"
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
      />
      <Textarea
        label="First message"
        placeholder="What is to be done?"
        autosize
        minRows={3}
        maxRows={10}
        value={message}
        onChange={(event) => setMessage(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === 'Enter' && (event.metaKey || event.ctrlKey)) void create()
        }}
      />
      <div className="new-session-actions">
        <Button variant="default" onClick={done}>
          Cancel
        </Button>
        <Button type="submit" loading={busy} disabled={!cwd.trim()}>
          {message.trim() ? 'Start' : 'Create'}
        </Button>
      </div>
    </form>
  )
}

function foldersByUse(sessions: SessionInfo[]): string[] {
  const newest = [...sessions].sort((one, other) => other.updated_at - one.updated_at)
  return [...new Set(newest.map(({ cwd }) => cwd))]
}
