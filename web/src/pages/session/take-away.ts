import { download } from '@/lib/download'
import { EXPORT_VERSION } from '@/parts/import/exported'
import type { EndedTurn, MessagePage, SessionInfo } from '@/protocol/types'
import { daemon } from '@/state/daemon'
import { asHtml, asMarkdown } from './transcript'

export type Form = 'md' | 'html' | 'json'

const TYPES: Record<Form, string> = { md: 'text/markdown', html: 'text/html', json: 'application/json' }
const PAGE = 1000

/** Hands a person all of a session as a file. Returns what it is called. */
export async function takeAway(info: SessionInfo, form: Form, called = ''): Promise<string> {
  const whole = await everything(info.id)
  const name = called || `${(info.name || info.id).replace(/[^\p{L}\p{N}]+/gu, '-').slice(0, 60)}.${form}`
  download(name, written(info, whole, form), TYPES[form])
  return name
}

function written(info: SessionInfo, whole: MessagePage, form: Form): string {
  if (form === 'md') return asMarkdown(info, whole)
  if (form === 'html') return asHtml(info, whole)
  return `${JSON.stringify({ version: EXPORT_VERSION, session: info, ...whole, has_more: undefined }, null, 1)}\n`
}

/** All messages, page by page from the end. */
async function everything(session: string): Promise<MessagePage> {
  const found: MessagePage = { messages: [], has_more: false, rewound: [] }
  const ends = new Map<number, EndedTurn>()
  for (let before: number | undefined; ; before = found.messages[0]?.number) {
    const page = await daemon.request('messages.page', { session, before, limit: PAGE })
    found.messages.unshift(...page.messages)
    found.rewound = page.rewound ?? found.rewound
    for (const end of page.turns ?? []) ends.set(end.turn, end)
    if (!page.has_more || page.messages.length === 0) break
  }
  found.turns = [...ends.values()].sort((one, other) => one.turn - other.turn)
  return found
}
