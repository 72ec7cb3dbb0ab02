import type {
  AnyEvent,
  EndedTurn,
  ErrorInfo,
  LapsedAsk,
  LiveAnswer,
  Message,
  MessagePage,
  PermissionAsk,
  PlanItem,
  Question,
  QueuedMessage,
  Retrying,
  RunningCall,
  SessionInfo,
  Snapshot,
  ToolResultPart,
} from '@/protocol/types'
import { LIVE_ONLY } from '@/protocol/types'
import { TOOLS } from '@/protocol/words'
import { saidOf } from './telling'

export type CallEnd = NonNullable<ToolResultPart['ended']>

/** How a call ended; the daemon leaves out what goes without saying. */
export function endOf(told: { ended?: CallEnd; is_error?: boolean }): CallEnd {
  return told.ended ?? (told.is_error ? 'failed' : 'done')
}

/** A tool call from its start, as far as the events told. */
export interface Call {
  tool: string
  summary: string
  arguments: Record<string, unknown>
  startedAt: number
  output: string
  /** How much of the output's beginning was let go of. */
  dropped: number
  finished: { ended: CallEnd; reason: string; summary: string; durationMs: number; exitCode: number | null } | null
}

/** A line between messages: something happened that nobody said. */
export interface Note {
  key: string
  /** The message it stands after. */
  after: number
  tone: 'plain' | 'warn' | 'bad'
  text: string
  hint: string
  at: number
  /** What takes this rewind back. */
  undo?: string
}

export interface Agent {
  child: string
  template: string
  task: string
  model: string
  callId: string
  startedAt: number
  /** The call it makes, as its tool and what it is about; empty while it thinks. */
  detail: string
  finished: { reason: EndedTurn['reason']; error: ErrorInfo | null; durationMs: number } | null
}

/** One session as it is shown. Everything in it comes from a snapshot, pages of older messages and events. */
export interface Conversation {
  info: SessionInfo
  seq: number
  /** A run without gaps that ends with the newest message. */
  messages: Message[]
  hasMore: boolean
  live: LiveAnswer | null
  calls: Record<string, Call>
  results: Record<string, ToolResultPart>
  permissions: PermissionAsk[]
  questions: Question[]
  /** What nobody answered in time, until it is asked again or let go. */
  lapsed: LapsedAsk[]
  plan: PlanItem[]
  queued: QueuedMessage[]
  /** They wait until somebody says go on. */
  held: boolean
  /** Where it stands among those that wait for turns of other sessions to end; null: it does not. */
  inLine: { place: number; waiting: number } | null
  /** A request that failed and waits to be sent again. */
  retrying: Retrying | null
  notes: Note[]
  /** How turns ended, by number: of every turn that is shown and does not run. */
  ends: Record<number, EndedTurn>
  agents: Record<string, Agent>
  turnStartedAt: number | null
  /** Ranges of message numbers that were taken back. */
  rewound: [number, number][]
  /** Calls that a person ran: no part of what was said. */
  runs: { callId: string; after: number }[]
  /** Set when what a turn changed may be another now. */
  changedAt: number
  deleted: boolean
}

export type Part = Message['parts'][number]

export const OUTPUT_KEPT = 64 * 1024

export function fromSnapshot(snapshot: Snapshot, known: Conversation | null): Conversation {
  return (snapshot.running ?? []).reduce(withRunning, withoutRunning(snapshot, known))
}

function withoutRunning(snapshot: Snapshot, known: Conversation | null): Conversation {
  const messages = snapshot.messages ?? []
  return {
    info: snapshot.info,
    seq: snapshot.seq,
    messages,
    hasMore: snapshot.has_more ?? false,
    live: snapshot.live ?? null,
    calls: known?.calls ?? {},
    results: resultsOf(messages, {}),
    permissions: snapshot.permissions ?? [],
    questions: snapshot.questions ?? [],
    lapsed: snapshot.lapsed ?? [],
    plan: snapshot.plan ?? [],
    queued: snapshot.queued ?? [],
    held: snapshot.held ?? false,
    inLine: snapshot.info.place ? { place: snapshot.info.place, waiting: 0 } : null,
    retrying: snapshot.retrying ?? null,
    notes: known?.notes ?? [],
    ends: withEnds({}, snapshot.turns),
    agents: known?.agents ?? {},
    turnStartedAt: isRunning(snapshot.info) ? (known?.turnStartedAt ?? snapshot.info.updated_at) : null,
    rewound: snapshot.rewound ?? [],
    runs: known?.runs ?? [],
    changedAt: snapshot.seq,
    deleted: false,
  }
}

/** What a session is when its turn has ended so. */
export function statusAfter(reason: EndedTurn['reason']): SessionInfo['status'] {
  return reason === 'error' || reason === 'interrupted' ? reason : 'idle'
}

export function isRunning(info: Pick<SessionInfo, 'status'>): boolean {
  return info.status === 'thinking' || info.status === 'executing_tool' || info.status === 'waiting_approval'
}

/** Older messages, put before what is there. */
export function withOlder(state: Conversation, page: MessagePage): Conversation {
  const first = state.messages[0]?.number ?? Number.POSITIVE_INFINITY
  const added = page.messages.filter((message) => message.number < first)
  return {
    ...state,
    messages: [...added, ...state.messages],
    results: resultsOf(added, state.results),
    ends: withEnds(state.ends, page.turns),
    hasMore: page.has_more,
    rewound: joined(state.rewound, page.rewound ?? []),
  }
}

function withEnds(known: Record<number, EndedTurn>, more: EndedTurn[] = []): Record<number, EndedTurn> {
  return { ...known, ...Object.fromEntries(more.map((end) => [end.turn, end])) }
}

function joined(known: [number, number][], more: [number, number][]): [number, number][] {
  const fresh = more.filter(([from, to]) => !known.some((range) => range[0] === from && range[1] === to))
  return fresh.length > 0 ? [...known, ...fresh] : known
}

/** What of the ranges is left when others are no longer part of them. */
function without(known: [number, number][], returned: [number, number][]): [number, number][] {
  return returned.reduce(
    (left, [low, high]) =>
      left.flatMap(([first, last]): [number, number][] =>
        [
          [first, Math.min(last, low - 1)] as [number, number],
          [Math.max(first, high + 1), last] as [number, number],
        ].filter(([from, to]) => from <= to),
      ),
    known,
  )
}

function resultsOf(messages: Message[], known: Record<string, ToolResultPart>): Record<string, ToolResultPart> {
  const found = { ...known }
  for (const message of messages)
    for (const part of message.parts) if (part.type === 'tool_result') found[part.call_id] = part
  return found
}

export function reduce(state: Conversation, event: AnyEvent): Conversation {
  if (LIVE_ONLY.has(event.type))
    return step(state.retrying && goesOn(event) ? { ...state, retrying: null } : state, event)
  const seq = event.seq ?? 0
  if (seq !== 0 && seq <= state.seq) return state
  const next = step(state.retrying && goesOn(event) ? { ...state, retrying: null } : state, event)
  return seq > next.seq ? { ...next, seq } : next
}

/** The request that waited was sent, or is given up. */
function goesOn({ type }: AnyEvent): boolean {
  return GOING_ON.has(type)
}

const GOING_ON = new Set<AnyEvent['type']>([
  'status',
  'text.delta',
  'thinking.delta',
  'message.added',
  'provider.failed_over',
  'retry.scheduled',
  'turn.completed',
])

function step(state: Conversation, event: AnyEvent): Conversation {
  switch (event.type) {
    case 'retry.scheduled': {
      const { provider, attempt, max_attempts, delay_s, error, at = 0 } = event
      if (!delay_s) return withNotes(state, event)
      return { ...state, retrying: { provider, attempt, max_attempts, delay_s, error, at } }
    }
    case 'text.delta':
      return { ...state, live: grown(state, event.message_number, 'text', event.text) }
    case 'thinking.delta':
      return { ...state, live: grown(state, event.message_number, 'thinking', event.text) }
    case 'live.state':
      return { ...state, live: event.live }
    case 'message.added':
      return withMessage(state, event.message, event.op_id ?? '', event.seq ?? 0)
    case 'message.queued':
      return { ...state, queued: [...state.queued.filter((one) => one.id !== event.queued.id), event.queued] }
    case 'asks.lapsed':
      return { ...state, lapsed: event.lapsed }
    case 'queue.changed':
      return {
        ...state,
        queued: event.queued ?? [],
        held: event.held ?? false,
        inLine: event.held ? null : state.inLine,
      }
    case 'turn.waiting':
      return { ...state, inLine: { place: event.place, waiting: event.waiting } }
    case 'tool.started':
      return withStarted(state, event)
    case 'tool.output':
      return withOutput(state, event.call_id, event.text)
    case 'tool.finished':
      return withFinished(state, event)
    case 'permission.requested':
      return { ...state, permissions: [...state.permissions.filter((ask) => ask.id !== event.ask.id), event.ask] }
    case 'permission.resolved':
      return { ...state, permissions: state.permissions.filter((ask) => ask.id !== event.ask_id) }
    case 'question.asked':
      return {
        ...state,
        questions: [...state.questions.filter((one) => one.id !== event.question.id), event.question],
      }
    case 'question.answered':
      return { ...state, questions: state.questions.filter((one) => one.id !== event.question_id) }
    case 'plan.updated':
      return { ...state, plan: event.plan }
    case 'subagent.started':
      return withAgent(state, event.child, {
        child: event.child,
        template: event.template,
        task: event.task,
        model: event.model ?? '',
        callId: event.call_id ?? '',
        startedAt: event.at ?? 0,
        detail: '',
        finished: null,
      })
    case 'subagent.progress':
      return withAgent(state, event.child, { template: event.template, detail: event.detail ?? '' })
    case 'subagent.finished':
      return withAgent(state, event.child, {
        detail: '',
        finished: { reason: event.reason, error: event.error ?? null, durationMs: event.duration_ms ?? 0 },
      })
    case 'session.deleted':
      return { ...state, deleted: true }
    default:
      return withNotes(withInfo(state, event), event)
  }
}

function withInfo(state: Conversation, event: AnyEvent): Conversation {
  const change = (info: Partial<SessionInfo>): Conversation => ({ ...state, info: { ...state.info, ...info } })
  switch (event.type) {
    case 'session.updated':
      return { ...state, info: event.info }
    case 'status':
      return change({ status: event.status })
    case 'usage.updated':
      return change({ usage: event.usage })
    case 'turn.started':
      return {
        ...change({ status: 'thinking', turn_count: event.turn }),
        // One that continues has not ended.
        ends: Object.fromEntries(Object.entries(state.ends).filter(([turn]) => Number(turn) !== event.turn)),
        turnStartedAt: event.at ?? 0,
        live: null,
        inLine: null,
      }
    case 'turn.completed':
      return {
        ...change({ status: statusAfter(event.reason) }),
        turnStartedAt: null,
        ends: withEnds(state.ends, [endedBy(event)]),
        // What ends the turn is told with its end.
        notes: event.error ? state.notes.filter((note) => note.text !== event.error?.message) : state.notes,
        live: null,
        permissions: [],
        questions: [],
        changedAt: event.seq ?? 0,
      }
    case 'checkpoint.restored':
      return {
        ...state,
        changedAt: event.seq ?? 0,
        rewound: joined(without(state.rewound, event.returned ?? []), event.rewound ?? []),
      }
    default:
      return state
  }
}

function endedBy(event: Extract<AnyEvent, { type: 'turn.completed' }>): EndedTurn {
  const { turn, reason, duration_ms, steps, usage, cost_usd, by, error } = event
  return { turn, reason, ended_at: event.at, duration_ms, steps, usage, cost_usd, by, error }
}

function grown(state: Conversation, number: number, kind: 'text' | 'thinking', text: string): LiveAnswer | null {
  if (number <= (state.messages.at(-1)?.number ?? 0)) return state.live
  const parts: Part[] = state.live?.message_number === number ? [...(state.live.parts ?? [])] : []
  const last = parts.at(-1)
  if (last?.type === kind) parts[parts.length - 1] = { ...last, text: last.text + text }
  else parts.push({ type: kind, text })
  return { message_number: number, parts }
}

function withMessage(state: Conversation, message: Message, opId: string, seq: number): Conversation {
  const newest = state.messages.at(-1)?.number ?? 0
  if (message.number <= newest) return state
  return {
    ...state,
    messages: [...state.messages, message],
    results: message.role === 'tool' ? resultsOf([message], state.results) : state.results,
    live: state.live && state.live.message_number <= message.number ? null : state.live,
    queued: message.role === 'user' ? state.queued.filter((one) => !opId || one.op_id !== opId) : state.queued,
    info: { ...state.info, message_count: Math.max(state.info.message_count ?? 0, message.number) },
    changedAt: message.parts.some(mayHaveChangedFiles) ? seq : state.changedAt,
  }
}

function mayHaveChangedFiles(part: Part): boolean {
  return part.type === 'tool_result' && (TOOLS[part.name]?.kind === 'run' || part.display?.files !== undefined)
}

function withStarted(state: Conversation, event: Extract<AnyEvent, { type: 'tool.started' }>): Conversation {
  return withBegun(state, event.call_id, {
    tool: event.tool,
    summary: event.summary ?? '',
    arguments: event.arguments ?? {},
    startedAt: event.at ?? 0,
    output: '',
    dropped: 0,
    finished: null,
  })
}

/** It began before somebody came to look. */
function withRunning(state: Conversation, running: RunningCall): Conversation {
  return withBegun(state, running.call_id, {
    tool: running.tool,
    summary: running.summary ?? '',
    arguments: running.arguments ?? {},
    startedAt: running.started_at ?? 0,
    output: running.output ?? '',
    dropped: running.dropped ?? 0,
    finished: null,
  })
}

function withBegun(state: Conversation, id: string, call: Call): Conversation {
  const begun = withCall(state, id, call)
  const asked = state.messages.findLast((message) => message.role === 'assistant')
  if (asked?.parts.some((part) => part.type === 'tool_call' && part.id === id)) return begun
  if (state.runs.some((run) => run.callId === id)) return begun
  return { ...begun, runs: [...state.runs, { callId: id, after: state.messages.at(-1)?.number ?? 0 }] }
}

function withCall(state: Conversation, id: string, call: Call): Conversation {
  return { ...state, calls: { ...state.calls, [id]: call } }
}

function withOutput(state: Conversation, id: string, text: string): Conversation {
  const call = state.calls[id]
  if (!call) return state
  const whole = call.output + text
  const over = Math.max(0, whole.length - OUTPUT_KEPT)
  return withCall(state, id, { ...call, output: whole.slice(over), dropped: call.dropped + over })
}

function withFinished(state: Conversation, event: Extract<AnyEvent, { type: 'tool.finished' }>): Conversation {
  const call = state.calls[event.call_id] ?? {
    tool: event.tool,
    summary: event.subject ?? '',
    arguments: {},
    startedAt: event.at ?? 0,
    output: '',
    dropped: 0,
    finished: null,
  }
  return withCall(state, event.call_id, {
    ...call,
    finished: {
      ended: endOf(event),
      reason: event.reason ?? '',
      summary: event.summary ?? '',
      durationMs: event.duration_ms ?? 0,
      exitCode: event.exit_code ?? null,
    },
  })
}

function withAgent(state: Conversation, child: string, change: Partial<Agent>): Conversation {
  const known: Agent = state.agents[child] ?? {
    child,
    template: '',
    task: '',
    model: '',
    callId: '',
    startedAt: 0,
    detail: '',
    finished: null,
  }
  return { ...state, agents: { ...state.agents, [child]: { ...known, ...change } } }
}

function withNotes(state: Conversation, event: AnyEvent): Conversation {
  // The header shows who is here.
  if (event.type === 'session.presence') return state
  const said = saidOf(event)
  if (said.length === 0) return state
  const undo = event.type === 'checkpoint.restored' ? event.undo : undefined
  const notes = said.map(
    ({ tone, text, hint, detail }, place): Note => ({
      key: keyOf(event, place),
      after: state.messages.at(-1)?.number ?? 0,
      at: event.at ?? 0,
      tone: TONES[tone],
      text,
      hint: [hint, detail].filter(Boolean).join(' '),
      ...(undo ? { undo } : {}),
    }),
  )
  const keys = new Set(notes.map((note) => note.key))
  const others = state.notes.filter((one) => !keys.has(one.key))
  return { ...state, notes: [...(event.type === 'checkpoint.restored' ? others.map(settled) : others), ...notes] }
}

/** What is told of a server that is late takes the place of what was told of it before. */
function keyOf(event: AnyEvent, place: number): string {
  if (event.type === 'mcp.late') return `mcp.${event.server}`
  return place === 0 ? `n${event.seq ?? 0}` : `n${event.seq ?? 0}.${place}`
}

const TONES = { plain: 'plain', warning: 'warn', error: 'bad' } as const

/** Only the newest rewind is offered to be taken back where it was. */
function settled(note: Note): Note {
  return note.undo ? { ...note, undo: '' } : note
}
