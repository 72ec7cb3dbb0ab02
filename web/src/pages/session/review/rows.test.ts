import { expect, it } from 'vitest'
import { linesOf } from '@/parts/diff-lines'
import { commentText, hunksOf, sideBySide } from './rows'

const PATCH = `--- a/a.py
+++ b/a.py
@@ -1,4 +1,4 @@ def f():
 one
-two
-three
+zwei
 four
+five
@@ -20,2 +20,1 @@
 twenty
-gone
`

it('cuts a patch into hunks, counted as the daemon counts them', () => {
  const hunks = hunksOf(linesOf(PATCH))
  expect(hunks.map(({ number, around, lines }) => [number, around, lines.length])).toEqual([
    [1, 'def f():', 6],
    [2, '', 2],
  ])
})

it('puts what was removed beside what came in its place, each with its own line number', () => {
  const rows = sideBySide(hunksOf(linesOf(PATCH))[0]!.lines)
  const told = rows.map(({ left, right }) => [left?.line.old, left?.line.text, right?.line.now, right?.line.text])
  expect(told).toEqual([
    [1, 'one', 1, 'one'],
    [2, 'two', 2, 'zwei'],
    [3, 'three', undefined, undefined],
    [4, 'four', 3, 'four'],
    [undefined, undefined, 4, 'five'],
  ])
})

it('tells the agent the file, the line and what it says', () => {
  const [, removed, , added] = hunksOf(linesOf(PATCH))[0]!.lines.map(({ line }) => line)
  expect(commentText('a.py', added!, ' why? ')).toBe('About `a.py`, line 2:\n\n> `zwei`\n\nwhy?')
  expect(commentText('a.py', removed!, 'no')).toBe('About `a.py`, the line 2 that you removed:\n\n> `two`\n\nno')
})
