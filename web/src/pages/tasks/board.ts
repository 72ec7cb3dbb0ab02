import type { TaskInfo, TaskRunInfo } from '@/protocol/types'

export type State = NonNullable<TaskInfo['state']>

export const STATES: State[] = ['todo', 'doing', 'blocked', 'done']

export const stateWords: Record<State, string> = {
  todo: 'To do',
  doing: 'Doing',
  blocked: 'Blocked',
  done: 'Done',
}

export const runWords: Record<TaskRunInfo['state'], string> = {
  working: 'An agent works on it',
  publishing: 'Being published',
  open: 'In review',
  answering: 'The agent answers its review',
  merged: 'Merged',
  closed: 'Closed without being merged',
  pushed: 'Its branch is there',
  stopped: 'Stopped',
  failed: 'Did not work',
}

/** It goes on by itself. */
export const goesOn = (run: TaskRunInfo) => ['working', 'publishing', 'open', 'answering'].includes(run.state)

/** Tasks by state, each in its order. */
export function columnsOf(tasks: TaskInfo[]): Record<State, TaskInfo[]> {
  const columns: Record<State, TaskInfo[]> = { todo: [], doing: [], blocked: [], done: [] }
  for (const task of tasks) columns[task.state ?? 'todo'].push(task)
  for (const column of Object.values(columns))
    column.sort((one, other) => (one.position ?? 0) - (other.position ?? 0) || one.id.localeCompare(other.id))
  return columns
}

/** A place in a column before one of its tasks, or at its end. */
export function placeBetween(column: TaskInfo[], before: TaskInfo | undefined): number {
  const at = before ? column.findIndex((task) => task.id === before.id) : -1
  const place = (index: number) => column[index]?.position ?? 0
  if (at < 0) return column.length > 0 ? place(column.length - 1) + 1 : 1
  return at === 0 ? place(0) - 1 : (place(at - 1) + place(at)) / 2
}
