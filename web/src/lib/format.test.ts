import { expect, it } from 'vitest'
import { linesOf } from '@/parts/diff-lines'
import { safeAddress } from '@/parts/safe-address'
import { ago, bytes, cost, duration, leftOut, money, spend, tokens } from './format'

it.each([
  [0, '$0.00'],
  [0.0042, '$0.0042'],
  [3.18, '$3.18'],
  [1204.4, '$1,204'],
])('writes money with as many digits as matter: %d', (usd, shown) => {
  expect(money(usd)).toBe(shown)
})

it('does not take an unknown price for none', () => {
  expect([cost(0, 0), cost(0, 2), cost(3.18, 2)]).toEqual(['$0.00', '$?', '$3.18+?'])
  expect([spend(0, 0, 0), spend(0, 2, 12_400), spend(3.18, 2, 9)]).toEqual(['$0.00', '12.4k tokens', '$3.18+?'])
  expect([leftOut(0), leftOut(1), leftOut(2)]).toEqual([
    '',
    'price unknown for 1 request',
    'price unknown for 2 requests',
  ])
})

it.each([
  [812, '812'],
  [12_400, '12.4k'],
  [99_960, '100k'],
  [3_100_000, '3.1M'],
])('writes tokens short: %d', (count, shown) => {
  expect(tokens(count)).toBe(shown)
})

it.each([
  [4, '4 ms'],
  [2100, '2.1 s'],
  [80_000, '1 m 20 s'],
  [3_720_000, '1 h 2 m'],
])('writes durations short: %d', (ms, shown) => {
  expect(duration(ms)).toBe(shown)
})

it('writes times relative to now', () => {
  expect([ago(100, 102), ago(100, 112), ago(100, 400), ago(100, 7300)]).toEqual(['now', '12 s', '5 min', '2 h'])
})

it.each([
  'javascript:alert(1)',
  ' JaVaScRiPt:alert(1)',
  'data:text/html,x',
  'file:///etc/passwd',
  '/ws',
  'x.html',
  'vbscript:x',
])('leads nowhere but to the web: %s', (address) => {
  expect(safeAddress(address)).toBeNull()
})

it('lets web addresses through', () => {
  expect(safeAddress('https://example.org/a?b#c')).toBe('https://example.org/a?b#c')
  expect(safeAddress('mailto:a@example.org')).toBe('mailto:a@example.org')
})

it('numbers the lines of a diff', () => {
  const patch = '--- a\n+++ a\n@@ -4,3 +4,3 @@ def f\n same\n-old\n+new\n same'
  expect(linesOf(patch).map(({ kind, old, now }) => [kind, old, now])).toEqual([
    ['hunk', null, null],
    ['same', 4, 4],
    ['removed', 5, null],
    ['added', null, 5],
    ['same', 6, 6],
  ])
})

it.each([
  [999, '999 B'],
  [1000, '1 kB'],
  [999_600, '1 MB'],
  [126_800_000, '127 MB'],
  [2_140_000_000, '2.1 GB'],
])('writes bytes as the command line does: %d', (count, shown) => {
  expect(bytes(count)).toBe(shown)
})
