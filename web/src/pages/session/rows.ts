import { mayContinue } from '@/lib/turn-words'
import type {
  EndedTurn,
  ImagePart,
  Message,
  NotePart,
  Retrying,
  TextPart,
  ToolCallPart,
  ToolResultPart,
} from '@/protocol/types'
import { type Call, type Conversation, isRunning, type Note } from '@/state/conversation'

/** What the chat shows, top to bottom. A row keeps its key from its first letter on, so that nothing jumps. */
export type Row = { key: string; rewound: boolean } & (
  | { kind: 'user'; message: Message; text: string; images: ImagePart[] }
  | { kind: 'text'; message: Message | null; text: string; live: boolean }
  | { kind: 'thinking'; text: string; live: boolean }
  | {
      kind: 'tool'
      call: ToolCallPart
      state: Call | null
      result: ToolResultPart | null
      open: boolean
      asking: boolean
    }
  | { kind: 'told'; message: Message }
  | { kind: 'image'; image: ImagePart }
  | { kind: 'note'; note: Note }
  | { kind: 'ended'; end: EndedTurn; retry: boolean }
  | { kind: 'retrying'; retrying: Retrying }
)

export function rowsOf(state: Conversation): Row[] {
  const rows: Row[] = []
  const asides = asidesOf(state)
  const first = state.messages[0]?.number ?? 0
  // What stands after a message that is not loaded yet waits for it, unless there is none before.
  if (!state.hasMore) for (const [after, found] of asides) if (after < first) rows.push(...found)
  for (const [index, message] of state.messages.entries()) {
    const rewound = isRewound(state, message.number)
    pushMessage(rows, state, message, rewound)
    rows.push(...(asides.get(message.number) ?? []))
    const end = state.ends[message.turn ?? 0]
    if (end && end.reason !== 'done' && state.messages[index + 1]?.turn !== message.turn)
      rows.push({ kind: 'ended', key: `e${end.turn}`, rewound, end, retry: !rewound && isNewest(state, end) })
  }
  if (state.messages.length === 0) for (const found of asides.values()) rows.push(...found)
  if (state.live)
    for (const [index, part] of (state.live.parts ?? []).entries()) {
      const key = `m${state.live.message_number}.${index}`
      if (part.type === 'text')
        rows.push({ kind: 'text', key, rewound: false, message: null, text: part.text, live: true })
      if (part.type === 'thinking') rows.push({ kind: 'thinking', key, rewound: false, text: part.text, live: true })
    }
  if (state.retrying) rows.push({ kind: 'retrying', key: 'retrying', rewound: false, retrying: state.retrying })
  return rows
}

/** It can be continued: no other turn came after it. */
function isNewest(state: Conversation, end: EndedTurn): boolean {
  return mayContinue(end.reason) && !isRunning(state.info) && end.turn === state.info.turn_count
}

function isRewound(state: Conversation, number: number): boolean {
  return state.rewound.some(([from, to]) => from <= number && number <= to)
}

function asidesOf(state: Conversation): Map<number, Row[]> {
  const found = new Map<number, Row[]>()
  const put = (after: number, row: Row) => {
    const there = found.get(after)
    if (there) there.push(row)
    else found.set(after, [row])
  }
  for (const { callId, after } of state.runs) {
    const call = state.calls[callId]
    if (call) {
      const part: ToolCallPart = { type: 'tool_call', id: callId, name: call.tool, arguments: call.arguments }
      put(after, {
        kind: 'tool',
        key: `t${callId}`,
        rewound: false,
        call: part,
        state: call,
        result: null,
        open: true,
        asking: false,
      })
    }
  }
  for (const note of state.notes) put(note.after, { kind: 'note', key: note.key, rewound: false, note })
  return found
}

function pushMessage(rows: Row[], state: Conversation, message: Message, rewound: boolean): void {
  if (message.role === 'tool') return
  if (message.role === 'user') {
    pushUser(rows, message, rewound)
    return
  }
  for (const [index, part] of message.parts.entries()) {
    const key = `m${message.number}.${index}`
    switch (part.type) {
      case 'text':
        if (part.text.trim()) rows.push({ kind: 'text', key, rewound, message, text: part.text, live: false })
        break
      case 'thinking':
        if (part.text.trim()) rows.push({ kind: 'thinking', key, rewound, text: part.text, live: false })
        break
      case 'tool_call': {
        const result = state.results[part.id] ?? null
        const call = state.calls[part.id] ?? null
        const asking = state.permissions.some((ask) => ask.call_id === part.id)
        rows.push({ kind: 'tool', key: `t${part.id}`, rewound, call: part, state: call, result, open: false, asking })
        break
      }
      case 'image':
        rows.push({ kind: 'image', key, rewound, image: part })
        break
    }
  }
}

function pushUser(rows: Row[], message: Message, rewound: boolean): void {
  const text = message.parts
    .filter((part): part is TextPart => part.type === 'text')
    .map((part) => part.text)
    .join('\n')
  const images = message.parts.filter((part): part is ImagePart => part.type === 'image')
  if (text || images.length > 0) rows.push({ kind: 'user', key: `m${message.number}`, rewound, message, text, images })
  if (notesOf(message).length > 0) rows.push({ kind: 'told', key: `n${message.number}`, rewound, message })
}

/** What the model was given along with a message. */
export function notesOf(message: Message): NotePart[] {
  return message.parts.filter((part): part is NotePart => part.type === 'note')
}
