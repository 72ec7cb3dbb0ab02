import { Autocomplete, Button, MultiSelect, Select, Textarea, TextInput } from '@mantine/core'
import { IconPlayerPlay, IconTrash } from '@tabler/icons-react'
import { useNavigate } from '@tanstack/react-router'
import { useMemo, useState } from 'react'
import { act } from '@/lib/ask'
import { useRenew } from '@/lib/live'
import { Modal } from '@/parts/Dialog'
import type { TaskInfo } from '@/protocol/types'
import { say } from '@/state/outbox'
import { useOverview } from '@/state/overview'
import { STATES, type State, stateWords } from './board'
import { TaskLink, TaskLog } from './TaskLog'
import { TaskRun } from './TaskRun'

export function TaskDialog({
  open,
  all,
  close,
}: {
  open: TaskInfo | State | null
  all: TaskInfo[]
  close: () => void
}) {
  const task = open !== null && typeof open === 'object' ? open : null
  return (
    <Modal opened={open !== null} onClose={close} title={task ? 'Task' : 'New task'} size="lg" keepMounted={false}>
      {open !== null && (
        <Form
          key={task?.id ?? 'new'}
          task={task}
          all={all}
          state={typeof open === 'string' ? open : (open.state ?? 'todo')}
          done={close}
        />
      )}
    </Modal>
  )
}

/** Only what is another: an agent may have changed the rest since the dialog was opened. */
function changed<T extends Partial<TaskInfo>>(task: TaskInfo, fields: T): Partial<T> {
  const known = { detail: '', owner: '', cwd: '', state: 'todo', after: [], links: [], ...task } as Record<
    string,
    unknown
  >
  const isNew = ([name, value]: [string, unknown]) => JSON.stringify(known[name]) !== JSON.stringify(value)
  return Object.fromEntries(Object.entries(fields).filter(isNew)) as Partial<T>
}

function Form(props: { task: TaskInfo | null; all: TaskInfo[]; state: State; done: () => void }) {
  const { task, all, state: first, done } = props
  const renew = useRenew('tasks.list')
  const navigate = useNavigate()
  const cards = useOverview((state) => state.cards)
  const folders = useMemo(() => [...new Set(Object.values(cards).map(({ info }) => info.cwd))].sort(), [cards])
  const [title, setTitle] = useState(task?.title ?? '')
  const [detail, setDetail] = useState(task?.detail ?? '')
  const [owner, setOwner] = useState(task?.owner ?? '')
  const [cwd, setCwd] = useState(task?.cwd ?? '')
  const [after, setAfter] = useState(task?.after ?? [])
  const [links, setLinks] = useState((task?.links ?? []).join('\n'))
  const [state, setState] = useState<State>(first)
  const [busy, setBusy] = useState('')

  const addresses = [...new Set(links.split('\n').map((line) => line.trim()))].filter(Boolean)
  const others = all
    .filter((one) => one.id !== task?.id && ((one.cwd ?? '') === cwd || after.includes(one.id)))
    .map((one) => ({ value: one.id, label: one.title }))

  const save = async () => {
    const fields = { title, detail, owner, cwd, state, after, links: addresses }
    const saved = task
      ? await act('task.update', { task: task.id, ...changed(task, fields) })
      : await act('task.create', fields)
    if (saved) await renew()
    return saved
  }
  const saveAndClose = async () => {
    setBusy('save')
    if (await save()) done()
    setBusy('')
  }
  const start = async () => {
    setBusy('start')
    const saved = await save()
    const made = saved && (await act('session.create', { cwd, name: title }))
    if (made) {
      await act('task.update', { task: saved.id, session: made.id, state: 'doing' })
      say(made.id, detail.trim() ? `${title}\n\n${detail}` : title)
      done()
      void navigate({ to: '/sessions/$id', params: { id: made.id } })
    }
    setBusy('')
  }
  const remove = async () => {
    if (!task) return
    setBusy('remove')
    if (await act('task.delete', { task: task.id })) {
      await renew()
      done()
    }
    setBusy('')
  }
  return (
    <form
      className="form"
      onSubmit={(event) => {
        event.preventDefault()
        void saveAndClose()
      }}
      onKeyDown={(event) => {
        if (event.key === 'Enter' && (event.metaKey || event.ctrlKey)) void saveAndClose()
      }}
    >
      <TextInput
        label="Title"
        placeholder="What is to be done?"
        value={title}
        onChange={(event) => setTitle(event.currentTarget.value)}
        maxLength={500}
        required
        data-autofocus
      />
      <Textarea
        label="Detail"
        placeholder="What an agent or a colleague needs to know. Markdown."
        autosize
        minRows={4}
        maxRows={16}
        value={detail}
        onChange={(event) => setDetail(event.currentTarget.value)}
      />
      <div className="task-fields">
        <Select
          label="State"
          allowDeselect={false}
          data={STATES.map((value) => ({ value, label: stateWords[value] }))}
          value={state}
          onChange={(value) => setState((value ?? state) as State)}
        />
        <TextInput label="Owner" value={owner} onChange={(event) => setOwner(event.currentTarget.value)} />
      </div>
      <Autocomplete
        label="Directory"
        description="Where an agent would work on it."
        placeholder="/home/me/project"
        data={folders}
        value={cwd}
        onChange={setCwd}
        classNames={{ input: 'mono' }}
      />
      {others.length > 0 && (
        <MultiSelect
          label="Waits for"
          description="Tasks of the same directory that have to be done first."
          placeholder={after.length ? undefined : 'nothing'}
          data={others}
          value={after}
          onChange={setAfter}
        />
      )}
      <Textarea
        label="Links"
        description="Addresses, and files of the workspace: one on each line."
        placeholder="https://…"
        autosize
        value={links}
        onChange={(event) => setLinks(event.currentTarget.value)}
      />
      {addresses.length > 0 && (
        <ul className="task-links">
          {addresses.map((link) => (
            <li key={link}>
              <TaskLink address={link} />
            </li>
          ))}
        </ul>
      )}
      {task && <TaskRun task={all.find((one) => one.id === task.id) ?? task} />}
      {task && <TaskLog task={task.id} />}
      <div className="form-actions">
        {task && (
          <Button
            variant="subtle"
            color="red"
            leftSection={<IconTrash size={14} />}
            loading={busy === 'remove'}
            onClick={() => void remove()}
            mr="auto"
          >
            Delete
          </Button>
        )}
        {!task?.session && (
          <Button
            variant="default"
            leftSection={<IconPlayerPlay size={14} />}
            disabled={!title.trim() || !cwd.trim()}
            loading={busy === 'start'}
            onClick={() => void start()}
          >
            Start a session
          </Button>
        )}
        <Button type="submit" loading={busy === 'save'} disabled={!title.trim()}>
          {task ? 'Save' : 'Create'}
        </Button>
      </div>
    </form>
  )
}
