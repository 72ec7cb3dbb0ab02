import { expect, it } from 'vitest'
import { MATHS, withMaths } from './maths'

it.each([
  ['so $x^2 = 4$ holds', `so \`${MATHS}x^2 = 4\` holds`],
  ['for every $n$ there is', `for every \`${MATHS}n\` there is`],
  ['so \\(a_1\\) is', `so \`${MATHS}a_1\` is`],
  ['in line $$a+b$$ too', `in line \`${MATHS}a+b\` too`],
  ['$$\n\\int_0^1 x\n$$', '\n```math\n\\int_0^1 x\n```\n'],
  ['\\[ e = mc^2 \\]', '\n```math\ne = mc^2\n```\n'],
])('finds maths: %s', (text, found) => {
  expect(withMaths(text)).toBe(found)
})

it.each([
  'it costs $5 to $10 a day',
  'between $0.10 and $0.20, or $HOME',
  'the price is $100',
  '`$x^2$` is code, ``$$a$$`` too',
  '```sh\necho "$a=$b"\n$$\n```\nand on',
  '```sh\nopen $a^2$ and no end',
  'escaped \\$x^2\\$ dollars',
  'not finished $$ a + b',
])('leaves the rest alone: %s', (text) => {
  expect(withMaths(text)).toBe(text)
})
