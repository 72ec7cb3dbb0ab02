import { exactTime, modelName } from '@/lib/format'
import type { Message, MessagePage, SessionInfo, ToolResultPart } from '@/protocol/types'
import { wordsFor } from './tool-words'

/** One thing that was said or done: who, when, and what as Markdown. */
interface Said {
  who: string
  at: number
  undone: boolean
  text: string
}

const MOST_OUTPUT = 4000

/** A session for people to read, in the order in which it was said. What was taken back says so. */
export function saidIn({ messages, rewound = [] }: MessagePage): Said[] {
  const results = new Map(
    messages
      .flatMap(({ parts }) => parts.filter((part) => part.type === 'tool_result'))
      .map((one) => [one.call_id, one]),
  )
  return messages
    .filter(({ role }) => role !== 'tool')
    .map((message) => ({
      who: message.role === 'user' ? 'You' : modelName(message.model ?? '') || 'The agent',
      at: message.created_at ?? 0,
      undone: rewound.some(([from, to]) => from <= message.number && message.number <= to),
      text: textOf(message, results),
    }))
    .filter(({ text }) => text !== '')
}

function textOf({ parts }: Message, results: Map<string, ToolResultPart>): string {
  return parts
    .map((part) => {
      if (part.type === 'text') return part.text.trim()
      if (part.type === 'image') return '*a picture*'
      if (part.type !== 'tool_call') return ''
      const result = results.get(part.id)
      const { verb, object } = wordsFor(part, '', result ? (result.is_error ? 'failed' : 'done') : 'waiting')
      const line = `*${[verb, object && `\`${object}\``].filter(Boolean).join(' ')}*`
      return result?.text ? `${line}\n\n${fenced(result.text)}` : line
    })
    .filter(Boolean)
    .join('\n\n')
}

function fenced(text: string): string {
  const kept =
    text.length > MOST_OUTPUT ? `${text.slice(0, MOST_OUTPUT)}\n… ${text.length - MOST_OUTPUT} more characters` : text
  const ticks = '`'.repeat(Math.max(3, ...[...kept.matchAll(/`+/g)].map(([run]) => run.length + 1)))
  return `${ticks}\n${kept.trimEnd()}\n${ticks}`
}

export function asMarkdown(info: SessionInfo, page: MessagePage): string {
  const head = `# ${info.name || info.id}\n\nSession \`${info.id}\` in \`${info.cwd}\`, begun ${exactTime(info.created_at)}.\n`
  const body = saidIn(page).map(({ who, undone, text }) => `\n## ${who}${undone ? ' (taken back)' : ''}\n\n${text}\n`)
  return head + body.join('')
}

const STYLE =
  'body{max-width:52rem;margin:2rem auto;padding:0 1rem;font:15px/1.5 system-ui,sans-serif}h2{margin:2rem 0 .25rem;font-size:1rem}pre{white-space:pre-wrap;overflow-wrap:anywhere;font:inherit}.undone{opacity:.6}time{color:#666;font-weight:400}'

/** One file that needs no other. What was said is shown as text: nothing in it can run. */
export function asHtml(info: SessionInfo, page: MessagePage): string {
  const title = escaped(info.name || info.id)
  const said = saidIn(page).map(
    ({ who, at, undone, text }) =>
      `<article${undone ? ' class="undone"' : ''}><h2>${escaped(who)}${undone ? ' (taken back)' : ''} <time>${at ? escaped(exactTime(at)) : ''}</time></h2><pre>${escaped(text)}</pre></article>`,
  )
  return `<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>${title}</title><style>${STYLE}</style>\n<main><h1>${title}</h1>\n${said.join('\n')}\n</main></html>\n`
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
}
