import { expect, it } from 'vitest'
import { filled, pairs, words } from './words'

it('splits a command line as a shell does', () => {
  expect(words(`npx -y "my server" --title 'it''s' a\\ b ""`)).toEqual([
    'npx',
    '-y',
    'my server',
    '--title',
    'its',
    'a b',
    '',
  ])
  expect(words('  ')).toEqual([])
  expect(() => words('say "hello')).toThrow('not closed')
})

it('reads names and values line by line', () => {
  expect(pairs('A=1\n\nB = x=y', '=')).toEqual({ A: '1', B: 'x=y' })
  expect(pairs('Authorization: Bearer ${T}', ':')).toEqual({ Authorization: 'Bearer ${T}' })
  expect(() => pairs('nothing', '=')).toThrow('has no =')
})

it('fills in what is known and leaves the rest to the environment', () => {
  expect(filled('Bearer ${TOKEN} ${OTHER:-x}', { TOKEN: 'abc' })).toBe('Bearer abc ${OTHER:-x}')
})
