import { Button } from '@mantine/core'
import { IconChecklist, IconDownload, IconFileText, IconPlus } from '@tabler/icons-react'
import { useQueryClient } from '@tanstack/react-query'
import { type DragEvent, useState } from 'react'
import { act, useAsk } from '@/lib/ask'
import { useLive } from '@/lib/live'
import { Modal } from '@/parts/Dialog'
import { Filter } from '@/parts/Listing'
import { Page } from '@/parts/Page'
import { EmptyState, ErrorState, LoadingRows } from '@/parts/states'
import type { TaskInfo, TaskList } from '@/protocol/types'
import { useKeys } from '@/shell/shortcuts'
import { columnsOf, placeBetween, STATES, type State, stateWords } from './board'
import { ImportIssues } from './ImportIssues'
import { SyncTasks } from './SyncTasks'
import { TaskCard } from './TaskCard'
import { TaskDialog } from './TaskDialog'
import './tasks.css'

const LIST = ['tasks.list', {}]

export default function Tasks() {
  useLive(['task.updated'], 'tasks.list')
  const queries = useQueryClient()
  const tasks = useAsk('tasks.list', {})
  const [query, setQuery] = useState('')
  const [open, setOpen] = useState<TaskInfo | State | null>(null)
  const [said, setSaid] = useState('')
  const [syncing, setSyncing] = useState(false)
  const [importing, setImporting] = useState(false)
  useKeys('Tasks', [{ keys: 'c', what: 'New task', run: () => setOpen('todo') }])
  const all = tasks.data?.tasks ?? []
  const text = query.trim().toLowerCase()
  const shown = all.filter((task) => `${task.title} ${task.detail} ${task.owner}`.toLowerCase().includes(text))
  const columns = columnsOf(shown)

  const move = async (task: TaskInfo, state: State, before: TaskInfo | undefined) => {
    const position = placeBetween(
      columnsOf(all)[state].filter((one) => one.id !== task.id),
      before,
    )
    // Shown at once; the daemon's word follows, and takes it back when it was refused.
    queries.setQueryData<TaskList>(LIST, (known) =>
      known ? { tasks: known.tasks.map((one) => (one.id === task.id ? { ...one, state, position } : one)) } : known,
    )
    setSaid(`${task.title} moved to ${stateWords[state]}.`)
    if (!(await act('task.update', { task: task.id, state, position }))) void tasks.refetch()
  }

  return (
    <Page
      title="Tasks"
      wide
      actions={
        <>
          {all.length > 0 && <Filter label="Filter tasks" value={query} change={setQuery} />}
          <Button
            size="xs"
            variant="default"
            leftSection={<IconDownload size={16} />}
            onClick={() => setImporting(true)}
          >
            Import issues
          </Button>
          <Button size="xs" variant="default" leftSection={<IconFileText size={16} />} onClick={() => setSyncing(true)}>
            Sync with a file
          </Button>
          <Button size="xs" leftSection={<IconPlus size={16} />} onClick={() => setOpen('todo')}>
            New task
          </Button>
        </>
      }
    >
      <p className="visually-hidden" role="status">
        {said}
      </p>
      {tasks.isPending ? (
        <LoadingRows count={3} height={120} />
      ) : tasks.error ? (
        <ErrorState problem={tasks.error} retry={() => void tasks.refetch()} />
      ) : all.length === 0 ? (
        <EmptyState
          icon={<IconChecklist size={24} />}
          title="No tasks yet"
          action={<Button onClick={() => setOpen('todo')}>Write the first</Button>}
        >
          A task is something to be done, by you or by an agent. Start a session from it when its time has come.
        </EmptyState>
      ) : (
        <div className="board">
          {STATES.map((state) => (
            <Column key={state} state={state} tasks={columns[state]} all={all} move={move} open={setOpen} />
          ))}
        </div>
      )}
      <Modal opened={syncing} onClose={() => setSyncing(false)} title="Sync with a file" size="lg" keepMounted={false}>
        <SyncTasks done={() => setSyncing(false)} />
      </Modal>
      <Modal opened={importing} onClose={() => setImporting(false)} title="Import issues" size="lg" keepMounted={false}>
        <ImportIssues done={() => setImporting(false)} />
      </Modal>
      <TaskDialog open={open} all={all} close={() => setOpen(null)} />
    </Page>
  )
}

function Column(props: {
  state: State
  tasks: TaskInfo[]
  all: TaskInfo[]
  move: (task: TaskInfo, state: State, before: TaskInfo | undefined) => Promise<void>
  open: (what: TaskInfo | State) => void
}) {
  const { state, tasks } = props
  const [over, setOver] = useState<number | null>(null)
  const dropped = (event: DragEvent) => {
    event.preventDefault()
    const task = props.all.find((one) => one.id === event.dataTransfer.getData('text/plain'))
    if (task && over !== null) void props.move(task, state, tasks[over])
    setOver(null)
  }
  const dragged = (event: DragEvent<HTMLElement>) => {
    event.preventDefault()
    const cards = [...event.currentTarget.querySelectorAll<HTMLElement>('.task')]
    const below = cards.findIndex((card) => {
      const { top, height } = card.getBoundingClientRect()
      return event.clientY < top + height / 2
    })
    setOver(below < 0 ? cards.length : below)
  }
  return (
    <section
      className={over === null ? 'column' : 'column column-over'}
      aria-label={stateWords[state]}
      onDragOver={dragged}
      onDragLeave={(event) => {
        if (!event.currentTarget.contains(event.relatedTarget as Node)) setOver(null)
      }}
      onDrop={dropped}
    >
      <header className="column-head">
        <h2>{stateWords[state]}</h2>
        <span className="mono dim">{tasks.length}</span>
        <Button
          size="compact-xs"
          variant="subtle"
          color="gray"
          onClick={() => props.open(state)}
          aria-label={`New task in ${stateWords[state]}`}
        >
          <IconPlus size={14} />
        </Button>
      </header>
      <ul className="column-tasks">
        {tasks.map((task, index) => (
          <TaskCard
            key={task.id}
            task={task}
            marked={over === index}
            open={() => props.open(task)}
            move={(wanted) => void props.move(task, wanted, undefined)}
            swap={(by) => void props.move(task, state, by < 0 ? tasks[index - 1] : tasks[index + 2])}
            first={index === 0}
            last={index === tasks.length - 1}
          />
        ))}
        {tasks.length === 0 && <li className="column-empty dim">Nothing here.</li>}
        {over === tasks.length && tasks.length > 0 && <li className="drop-line" aria-hidden />}
      </ul>
    </section>
  )
}
