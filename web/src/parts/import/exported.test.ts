import { expect, it } from 'vitest'
import { importOf, readExport } from './exported'

const SESSION = { id: '06gx', name: 'fix it', cwd: '/there', created_at: 5, updated_at: 6 }
const MESSAGE = { number: 1, role: 'user', turn: 1, parts: [{ type: 'text', text: 'hi' }] }
const written = (more: object = {}) => JSON.stringify({ version: 1, session: SESSION, messages: [MESSAGE], ...more })

it('reads what was written', () => {
  expect(importOf(readExport('a.json', written({ rewound: [[1, 1]] })))).toEqual({
    messages: [MESSAGE],
    origin: '06gx',
    name: 'fix it',
    created_at: 5,
    turns: [],
    rewound: [[1, 1]],
    usage: null,
    settings: {},
  })
})

it('takes along what was chosen, and neither the mode nor the budget', () => {
  const settings = { mode: 'full', budget_usd: 9, temperature: 0.2, model: 'a/b' }
  const read = readExport('a.json', written({ session: { ...SESSION, settings } }))
  expect(importOf(read).settings).toEqual({ temperature: 0.2, model: 'a/b' })
})

it.each([
  ['no JSON', '# Notes'],
  ['something else', '{"name": "package"}'],
  ['a list', '[]'],
  ['messages of another program', written({ messages: [{ role: 'user', content: 'hi' }] })],
])('says in a sentence that a file is no session: %s', (_, text) => {
  expect(() => readExport('notes.md', text)).toThrow(/^notes\.md is no session of OpenAgent\. /)
})

it('says that a file is too new, or empty', () => {
  expect(() => readExport('a.json', written({ version: 2 }))).toThrow('newer OpenAgent: version 2')
  expect(() => readExport('a.json', written({ messages: [] }))).toThrow('nothing to import')
})
