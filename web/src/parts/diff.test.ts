import { expect, it } from 'vitest'
import { filesOf, placesOf } from './diff-lines'
import { changedWords, compared } from './diff-words'

const PATCH = `--- a/one.sql
+++ b/one.sql
@@ -4,3 +4,3 @@ create
 same
--- a comment
+-- another comment
 same
--- /dev/null
+++ b/two.txt
@@ -0,0 +1 @@
+hello`

it('reads a diff file by file, and takes what looks like a head for the text it is', () => {
  const files = filesOf(PATCH)
  expect(files.map(({ path, fate, added, removed }) => [path, fate, added, removed])).toEqual([
    ['one.sql', 'changed', 1, 1],
    ['two.txt', 'new', 1, 0],
  ])
  expect(files[0]!.lines.map(({ kind, old, now }) => [kind, old, now])).toEqual([
    ['hunk', null, null],
    ['same', 4, 4],
    ['removed', 5, null],
    ['added', null, 5],
    ['same', 6, 6],
  ])
  expect(placesOf(files[0]!.lines)).toEqual([4, 6])
})

it('lights the words that are other words now', () => {
  const lit = (text: string, ranges: [number, number][]) => ranges.map(([from, to]) => text.slice(from, to))
  const [old, now] = ['    now = clock()', '    now = self._now']
  const [before, after] = compared(old, now)
  expect(lit(old, before)).toEqual(['clock()'])
  expect(lit(now, after)).toEqual(['self._now'])
  expect(compared('return 1', 'import os')).toEqual([[], []])
  expect([...changedWords(filesOf(PATCH)[0]!.lines).keys()]).toEqual([2, 3])
})
