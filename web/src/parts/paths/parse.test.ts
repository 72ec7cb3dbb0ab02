import { expect, it } from 'vitest'
import { linkedPath, pieces, wholePath } from './parse'

const found = (text: string) =>
  pieces(text)
    .filter((piece) => typeof piece !== 'string')
    .map(({ path, line }) => (line ? `${path} @${line}` : path))

it('finds paths with and without lines', () => {
  expect(found('See src/a.py:12 and web/src/pages/session/Editor.tsx.')).toEqual([
    'src/a.py @12',
    'web/src/pages/session/Editor.tsx',
  ])
  expect(found('src/a.py:12:5: error')).toEqual(['src/a.py @12'])
  expect(found('(./lib/x.ts:3-9), retry.py:40, Makefile:7')).toEqual(['./lib/x.ts @3', 'retry.py @40', 'Makefile @7'])
  expect(found('  File "/home/me/p/src/a.py", line 31, in run')).toEqual(['/home/me/p/src/a.py @31'])
  expect(found('/abs/dir/b.rs#L8')).toEqual(['/abs/dir/b.rs @8'])
})

it('leaves alone what is none', () => {
  expect(found('https://example.org/a/b.js:12 and http://x.test/c.py')).toEqual([])
  expect(found('read and/or write, 1/2, os.path, e.g. this.')).toEqual([])
  expect(found('retry.py is flaky')).toEqual([])
  expect(found('at 12:30, version 1.2.3, node_modules/x')).toEqual([])
})

it('keeps every letter of the text', () => {
  const text = 'a src/a.py:1\nb File "x.py", line 2\n c'
  expect(
    pieces(text)
      .map((piece) => (typeof piece === 'string' ? piece : piece.text))
      .join(''),
  ).toBe(text)
})

it('takes code for a path by its ending alone', () => {
  expect(wholePath('retry.py')).toEqual({ path: 'retry.py' })
  expect(wholePath('src/retry.py:4')).toMatchObject({ path: 'src/retry.py', line: 4 })
  expect(wholePath('pytest -q src/a.py')).toBeNull()
  expect(wholePath('os.path')).toBeNull()
})

it('reads links to files of the workspace, and no others', () => {
  expect(linkedPath('src/a.py#L12')).toEqual({ path: 'src/a.py', line: 12 })
  expect(linkedPath('src/a%20b.py:3')).toEqual({ path: 'src/a b.py', line: 3 })
  for (const other of [
    'https://x.test/a.py',
    'javascript:alert(1)',
    '//x.test/a',
    '#top',
    'mailto:a@b',
    'data:text/x,y',
  ])
    expect(linkedPath(other)).toBeNull()
})
