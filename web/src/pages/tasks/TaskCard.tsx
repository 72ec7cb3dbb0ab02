import { ActionIcon, Menu } from '@mantine/core'
import { IconArrowDown, IconArrowUp, IconDots, IconGitPullRequest } from '@tabler/icons-react'
import { Link } from '@tanstack/react-router'
import type { KeyboardEvent } from 'react'
import { firstLine, folderName } from '@/lib/format'
import { Ago } from '@/parts/Ago'
import { StatusMark } from '@/parts/StatusMark'
import type { TaskInfo } from '@/protocol/types'
import { useOverview } from '@/state/overview'
import { runWords, STATES, type State, stateWords } from './board'
import { TaskLink } from './TaskLog'

/** Moved by dragging, by its menu, or with Alt and the arrow keys. */
export function TaskCard(props: {
  task: TaskInfo
  marked: boolean
  first: boolean
  last: boolean
  open: () => void
  move: (state: State) => void
  swap: (by: -1 | 1) => void
}) {
  const { task } = props
  const state = task.state ?? 'todo'
  const waits = task.waits_for?.length ?? 0
  const session = useOverview(({ cards }) => cards[task.session ?? '']?.info)
  const onKey = (event: KeyboardEvent) => {
    if (!event.altKey) return
    const at = STATES.indexOf(state)
    const wanted = event.key === 'ArrowRight' ? STATES[at + 1] : event.key === 'ArrowLeft' ? STATES[at - 1] : undefined
    if (wanted) props.move(wanted)
    else if (event.key === 'ArrowUp' && !props.first) props.swap(-1)
    else if (event.key === 'ArrowDown' && !props.last) props.swap(1)
    else return
    event.preventDefault()
  }
  return (
    <li
      className={props.marked ? 'task panel task-marked' : 'task panel'}
      draggable
      onDragStart={(event) => {
        event.dataTransfer.setData('text/plain', task.id)
        event.dataTransfer.effectAllowed = 'move'
      }}
    >
      <div className="task-head">
        <button
          type="button"
          className="task-title"
          onClick={props.open}
          onKeyDown={onKey}
          aria-keyshortcuts="Alt+ArrowLeft Alt+ArrowRight Alt+ArrowUp Alt+ArrowDown"
        >
          {task.title}
        </button>
        <Menu position="bottom-end">
          <Menu.Target>
            <ActionIcon size="sm" variant="subtle" color="gray" aria-label={`Move ${task.title}`}>
              <IconDots size={14} />
            </ActionIcon>
          </Menu.Target>
          <Menu.Dropdown>
            <Menu.Label>Move to</Menu.Label>
            {STATES.filter((one) => one !== state).map((one) => (
              <Menu.Item key={one} onClick={() => props.move(one)}>
                {stateWords[one]}
              </Menu.Item>
            ))}
            <Menu.Divider />
            <Menu.Item leftSection={<IconArrowUp size={14} />} disabled={props.first} onClick={() => props.swap(-1)}>
              Up
            </Menu.Item>
            <Menu.Item leftSection={<IconArrowDown size={14} />} disabled={props.last} onClick={() => props.swap(1)}>
              Down
            </Menu.Item>
          </Menu.Dropdown>
        </Menu>
      </div>
      {task.detail && <p className="task-detail dim">{firstLine(task.detail)}</p>}
      {waits > 0 && state !== 'done' && (
        <p className="task-waits">
          Waits for {waits} other {waits === 1 ? 'task' : 'tasks'}
        </p>
      )}
      {task.run && (
        <p className={task.run.state === 'failed' || task.run.state === 'stopped' ? 'task-waits' : 'task-way dim'}>
          <IconGitPullRequest size={12} aria-hidden /> {runWords[task.run.state]}
          {task.run.url && (
            <>
              {' · '}
              <TaskLink address={task.run.url} />
            </>
          )}
        </p>
      )}
      <div className="task-foot dim">
        {session ? (
          <Link to="/sessions/$id" params={{ id: session.id }} className="task-session cut">
            <StatusMark status={session.status} /> {session.name || 'Session'}
          </Link>
        ) : (
          <span className="cut">{[task.owner, task.cwd && folderName(task.cwd)].filter(Boolean).join(' · ')}</span>
        )}
        <Ago at={task.updated_at} />
      </div>
    </li>
  )
}
