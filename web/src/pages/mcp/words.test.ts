import { expect, it } from 'vitest'
import { filled, line, lines, pairs, words } from './words'

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

it('a command line that was taken apart is put together again', () => {
  for (const typed of ['mcp-server --zone Europe/Vienna', "say 'two words' 'it'\\''s'", "run '' ${TOKEN}"]) {
    const [command, ...args] = words(typed)
    expect(words(line({ command, args }))).toEqual([command, ...args])
  }
  expect(pairs(lines({ A: '1', B: '' }, 'command'), '=')).toEqual({ A: '1', B: '' })
  expect(pairs(lines({ Authorization: 'Bearer x' }, 'url'), ':')).toEqual({ Authorization: 'Bearer x' })
})
