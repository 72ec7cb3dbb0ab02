import { expect, it } from 'vitest'
import type { TaskInfo } from '@/protocol/types'
import { columnsOf, placeBetween } from './board'

const task = (id: string, position: number, state: TaskInfo['state'] = 'todo'): TaskInfo => ({
  id,
  title: id,
  created_at: 0,
  updated_at: 0,
  state,
  position,
})

it('puts tasks into columns in their order', () => {
  const columns = columnsOf([task('b', 2), task('a', 1), task('c', 1, 'done')])
  expect(columns.todo.map(({ id }) => id)).toEqual(['a', 'b'])
  expect(columns.done.map(({ id }) => id)).toEqual(['c'])
})

it('finds a place before a task, and at the end', () => {
  const column = [task('a', 1), task('b', 2)]
  expect(placeBetween(column, column[0])).toBe(0)
  expect(placeBetween(column, column[1])).toBe(1.5)
  expect(placeBetween(column, undefined)).toBe(3)
  expect(placeBetween([], undefined)).toBe(1)
})
