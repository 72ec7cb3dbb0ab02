import { expect, it, vi } from 'vitest'
import { COMMANDS } from '@/protocol/commands'
import type { SessionInfo } from '@/protocol/types'
import { quoted } from './attachments'
import { BUILT_IN, builtIn, OFFERED } from './commands'
import { commandsFor, mentionsFor } from './useSuggestions'
import { commandIn, wordAt } from './words'

// Modules of the page look at it as they load.
vi.hoisted(() => vi.stubGlobal('navigator', { userAgent: '' }))

it.each([
  ['/comp', 5, { kind: 'command', start: 0, word: 'comp' }],
  ['say /comp', 9, null],
  ['see @src/ti', 11, { kind: 'mention', start: 4, word: 'src/ti' }],
  ['(@till', 6, { kind: 'mention', start: 1, word: 'till' }],
  ['mail@till', 9, null],
  ['@till and', 9, null],
])('finds the word before the cursor in %j', (text, cursor, found) => {
  expect(wordAt(text, cursor)).toEqual(found)
})

it('tells a command from a path', () => {
  expect(commandIn('/rename  The parser\nof today')).toEqual({ name: 'rename', given: 'The parser\nof today' })
  expect(commandIn('/etc/hosts is wrong')).toBeNull()
})

it('knows the terminal’s commands by all their names, and offers those that do something here', () => {
  expect(builtIn('branch')).toBe('fork')
  expect(builtIn('nothing')).toBeNull()
  expect(Object.keys(BUILT_IN)).toEqual(COMMANDS.map(({ name }) => name))
  const offered = OFFERED.map(({ name }) => name)
  expect(offered).toContain('compact')
  expect(offered).not.toContain('vim')
})

it('groups commands, prompts and skills, the best of each first', () => {
  const own = [
    { name: 'review', description: 'look at it', origin: 'project' as const },
    { name: 'srv:revise', origin: 'mcp' as const },
  ]
  const prompt = { server: 'srv', name: 'revise', arguments: [{ name: 'what', required: true }] }
  const found = commandsFor('rev', own, [{ name: 'reviewing', description: 'how to' }], [prompt])
  expect(found.map(({ group, text }) => [group, text])).toEqual([
    ['Your commands', '/review '],
    ['Prompts of MCP servers', '/srv:revise '],
    ['Skills', 'Use the skill reviewing: '],
  ])
  expect(found[1]).toMatchObject({ label: '/srv:revise what', prompt })
  expect(commandsFor('cost').map(({ text }) => text)).toContain('/usage')
})

it('finds what is meant by some letters, in groups', () => {
  const session = { id: 's1', name: 'till jams', cwd: '/shop', created_at: 0, updated_at: 0 } as SessionInfo
  const found = mentionsFor('till', {
    files: [
      { name: 'distill.md', path: 'docs/distill.md', kind: 'file' },
      { name: 'till.py', path: 'src/till.py', kind: 'file' },
    ],
    symbols: [{ name: 'Till', symbol: 'Till', kind: 'class', path: 'src/till.py', start_line: 3, end_line: 9 }],
    sessions: [session],
    resources: [{ server: 'shop', uri: 'shop://tills', name: 'tills' }],
  })
  expect(found.map(({ text }) => text)).toEqual([
    '@src/till.py ',
    '@docs/distill.md ',
    'Till (@src/till.py:3) ',
    '@session:s1 (till jams) ',
    '@shop:shop://tills ',
  ])
})

it('quotes a file with a fence that nothing in it ends', () => {
  expect(quoted('a.md', 'x\n````\ny\n')).toBe('The file a.md:\n`````\nx\n````\ny\n`````')
})
