import { expect, it } from 'vitest'
import { firstChanged, placeOf } from './place-of'

const call = (name: string, given: Record<string, unknown>) =>
  ({ type: 'tool_call', id: '1', name, arguments: given }) as Parameters<typeof placeOf>[0]

it('finds the file of a call, and the line it is about', () => {
  expect(placeOf(call('read_file', { path: 'a.py', start: 40 }), {})).toEqual({ path: 'a.py', line: 40 })
  expect(placeOf(call('edit_file', { path: 'a.py' }), { diff: '@@ -3,3 +3,4 @@\n one\n+two\n' })).toEqual({
    path: 'a.py',
    line: 4,
  })
  expect(placeOf(call('list_dir', { path: 'src' }), {})).toBeNull()
  expect(placeOf(call('read_file', { path: 'output:7' }), {})).toBeNull()
  expect(placeOf(call('shell', { command: 'ls' }), {})).toBeNull()
})

it('finds the first changed line of a patch', () => {
  expect(firstChanged('--- a\n+++ b\n@@ -1,2 +1,2 @@\n-x\n+y\n')).toBe(1)
  expect(firstChanged('')).toBeUndefined()
})
