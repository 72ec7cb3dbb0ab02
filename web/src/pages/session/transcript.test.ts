import { expect, it } from 'vitest'
import type { MessagePage, SessionInfo } from '@/protocol/types'
import { asHtml, asMarkdown } from './transcript'

const info = { id: 'x1', name: 'fix <it>', cwd: '/p', created_at: 0, updated_at: 0 } as SessionInfo
const page: MessagePage = {
  has_more: false,
  rewound: [[3, 3]],
  messages: [
    { number: 1, role: 'user', parts: [{ type: 'text', text: 'Look <b>here</b>' }] },
    {
      number: 2,
      role: 'assistant',
      model: 'a/one',
      parts: [
        { type: 'thinking', text: 'hidden' },
        { type: 'tool_call', id: 'c', name: 'read_file', arguments: { path: 'a.py' } },
      ],
    },
    { number: 3, role: 'tool', parts: [{ type: 'tool_result', call_id: 'c', name: 'read_file', text: 'x = ```1```' }] },
    { number: 3, role: 'user', parts: [{ type: 'text', text: 'no' }] },
  ],
}

it('writes a session as Markdown: who said what, what was done, what was taken back', () => {
  const text = asMarkdown(info, page)
  expect(text).toContain('# fix <it>')
  expect(text).toContain('## You\n\nLook <b>here</b>')
  expect(text).toContain('## one\n\n*read `a.py`*\n\n````\nx = ```1```\n````')
  expect(text).toContain('## You (taken back)\n\nno')
  expect(text).not.toContain('hidden')
})

it('writes a page in which nothing can run', () => {
  const text = asHtml(info, page)
  expect(text).toContain('<title>fix &lt;it&gt;</title>')
  expect(text).toContain('Look &lt;b&gt;here&lt;/b&gt;')
})
