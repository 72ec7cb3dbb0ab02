import { Autocomplete, Button, Select, Textarea, TextInput } from '@mantine/core'
import { Link, useNavigate } from '@tanstack/react-router'
import { lazy, Suspense, useMemo, useState } from 'react'
import { Refusal } from '@/connection/connection'
import { messageOf, useAsk } from '@/lib/ask'
import { useRenew } from '@/lib/live'
import { MODES, type Mode, modeWords } from '@/lib/modes'
import { Dialog } from '@/parts/Dialog'
import type { SessionInfo } from '@/protocol/types'
import { useShell } from '@/shell/shell-state'
import { daemon } from '@/state/daemon'
import { say } from '@/state/outbox'
import { useOverview } from '@/state/overview'
import { ownerOf, usePeople } from '@/state/people'
import { Choice } from './Choice'
import { FolderField, whole } from './FolderField'
import { Problem } from './Form'
import { useNoModel, useSkipped } from './first-run'
import './new-session.css'
import { LoadingRows } from './states'
import { isToAsk, type TrustAnswer, TrustQuestion } from './TrustQuestion'

const Sources = lazy(() => import('@/pages/welcome/Sources').then(({ Sources }) => ({ default: Sources })))

export default function NewSession() {
  const noModel = useNoModel()
  const [without, setWithout] = useState(false)
  const template = useShell((state) => state.template)
  const close = () => useShell.setState({ newSession: false, template: '' })
  const first = noModel && !without
  return (
    <Dialog
      onClose={close}
      title={first ? 'First: what should answer?' : template ? `New session from ${template}` : 'New session'}
      size={first ? 'xl' : 'lg'}
    >
      {first ? (
        <Suspense fallback={<LoadingRows count={3} height={88} />}>
          <Sources
            chosen={() => useSkipped.setState({ skipped: true })}
            done={() => {
              useSkipped.setState({ skipped: true })
              close()
            }}
          />
          <div className="new-session-actions">
            <Button variant="subtle" color="gray" onClick={() => setWithout(true)}>
              Go on without one
            </Button>
          </div>
        </Suspense>
      ) : (
        <Form from={template} done={close} />
      )}
    </Dialog>
  )
}

function Form({ from, done }: { from: string; done: () => void }) {
  const navigate = useNavigate()
  const renew = useRenew('setup.show', 'trust.list')
  const cards = useOverview((state) => state.cards)
  const people = usePeople()
  const folders = useMemo(() => {
    const used = foldersByUse(
      Object.values(cards)
        .map(({ info }) => info)
        .filter((info) => !info.parent && !ownerOf(people, info)),
    )
    const own = people.person?.folder
    return own && !used.includes(own) ? [...used, own] : used
  }, [cards, people])
  const home = useAsk('folders.list', {}, { staleTime: 60_000 })
  const status = useAsk('daemon.status', {})
  const models = useAsk('models.list', {}, { staleTime: 300_000 })
  const templates = useAsk('templates.list', {})
  const [template, setTemplate] = useState<string | null>(from || null)
  const [folder, setFolder] = useState(folders[0] ?? '')
  const [model, setModel] = useState('')
  const [mode, setMode] = useState<Mode | 'configured'>('configured')
  const [name, setName] = useState('')
  const [message, setMessage] = useState('')
  const [busy, setBusy] = useState(false)
  const [trusted, setTrusted] = useState<TrustAnswer>('')
  const [wrong, setWrong] = useState({ folder: '', other: '' })
  const cwd = whole(folder, home.data?.home ?? '')
  const there = useAsk('setup.show', { cwd }, { enabled: cwd.startsWith('/') })
  const asked = there.data?.folder

  const create = async () => {
    setBusy(true)
    setWrong({ folder: '', other: '' })
    try {
      if (isToAsk(asked) && trusted) {
        await daemon.request(trusted === 'trust' ? 'trust.add' : 'trust.decline', { cwd })
        void renew()
      }
      const made = await daemon.request('session.create', {
        cwd,
        name,
        ...(template ? { template } : {}),
        settings: { ...(mode === 'configured' ? {} : { mode }), ...(model ? { model } : {}) },
      })
      done()
      void navigate({ to: '/sessions/$id', params: { id: made.id } })
      if (message.trim()) say(made.id, message.trim())
    } catch (problem) {
      const said = messageOf(problem)
      setWrong(isAbout(cwd, problem) ? { folder: said, other: '' } : { folder: '', other: said })
    }
    setBusy(false)
  }

  return (
    <form
      className="new-session"
      onSubmit={(event) => {
        event.preventDefault()
        void create()
      }}
    >
      <FolderField
        label="Directory"
        value={folder}
        change={(path) => {
          setFolder(path)
          setTrusted('')
          setWrong({ folder: '', other: '' })
        }}
        recent={folders}
        problem={wrong.folder}
      />
      {isToAsk(asked) && <TrustQuestion folder={asked} answer={trusted} change={setTrusted} />}
      <Textarea
        label="First message"
        placeholder="What is to be done?"
        autosize
        minRows={3}
        maxRows={10}
        value={message}
        onChange={(event) => setMessage(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === 'Enter' && (event.metaKey || event.ctrlKey) && cwd) void create()
        }}
      />
      <Autocomplete
        label="Model"
        placeholder={status.data?.model ? `${status.data.model} (as configured)` : 'provider/model'}
        data={models.data?.models.map((one) => one.name) ?? []}
        limit={50}
        openOnFocus={false}
        value={model}
        onChange={setModel}
        error={
          !status.isLoading && !status.data?.model && !model ? (
            <>
              No model is set up yet: name one, or{' '}
              <Link to="/welcome" onClick={done}>
                choose what should answer
              </Link>
              .
            </>
          ) : undefined
        }
      />
      <div>
        <div className="field-label" aria-hidden>
          Mode
        </div>
        <Choice label="Mode" value={mode} choose={setMode} choices={['configured', ...MODES]} />
        <p className="field-hint">{mode === 'configured' ? 'As the settings or the template say.' : modeWords[mode]}</p>
      </div>
      <div className="new-session-pair">
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
      </div>
      <Problem text={wrong.other} />
      <div className="new-session-actions">
        <Button variant="default" onClick={done}>
          Cancel
        </Button>
        <Button type="submit" loading={busy} disabled={!cwd}>
          {message.trim() ? 'Start' : 'Create'}
        </Button>
      </div>
    </form>
  )
}

/** A refusal that names the folder belongs to its field. */
function isAbout(cwd: string, problem: unknown): boolean {
  return problem instanceof Refusal && problem.info.message.includes(cwd)
}

function foldersByUse(sessions: SessionInfo[]): string[] {
  const newest = [...sessions].sort((one, other) => other.updated_at - one.updated_at)
  return [...new Set(newest.map(({ cwd }) => cwd))]
}
