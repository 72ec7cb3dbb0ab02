import { create } from 'zustand'
import type {
  AnyEvent,
  McpServerStatus,
  Metrics,
  PendingAsk,
  PermissionAsk,
  Question,
  SessionInfo,
} from '@/protocol/types'
import { statusAfter } from './conversation'

/** What the dashboard knows of a session beyond its own description. */
export interface Card {
  info: SessionInfo
  /** The tool at work, or the end of the last answer. */
  line: string
  asks: PermissionAsk[]
  questions: Question[]
  /** Context sizes of the last requests: the spark line. */
  pulse: number[]
  turnStartedAt: number | null
  /** What those have cost that work for it and are not among the cards. */
  unlisted: Sum
}

/** Money, and the requests that it leaves out because their price is not known. */
export interface Sum {
  usd: number
  unpriced: number
}

export const NOTHING: Sum = { usd: 0, unpriced: 0 }

export interface Overview {
  cards: Record<string, Card>
  loaded: boolean
  metrics: Metrics | null
  /** CPU use of the machine over the last minutes. */
  cpu: number[]
  mcp: Record<string, McpServerStatus>
}

export const emptyOverview: Overview = { cards: {}, loaded: false, metrics: null, cpu: [], mcp: {} }

const SPARK_LENGTH = 24

export const useOverview = create<Overview>(() => emptyOverview)

export function cardOf(info: SessionInfo, known?: Card): Card {
  if (known && (known.info.seq ?? 0) > (info.seq ?? 0)) return known
  return { line: '', asks: [], questions: [], pulse: [], turnStartedAt: null, unlisted: NOTHING, ...known, info }
}

/** A list of sessions as the daemon gave it: the newest word on each, and what is known of it stays. */
export function withSessions(state: Overview, sessions: SessionInfo[], whole: boolean): Overview {
  const cards: Record<string, Card> = whole ? {} : { ...state.cards }
  for (const info of sessions) cards[info.id] = cardOf(info, state.cards[info.id])
  return { ...state, cards, loaded: whole || state.loaded }
}

/** As the daemon answers, with what those have cost that work for them: the part of it that no card has is kept. */
export function withTold(state: Overview, sessions: SessionInfo[], whole: boolean): Overview {
  const next = withSessions(state, sessions, whole)
  const listed = new Map<string, Sum>()
  for (const { info } of Object.values(next.cards)) {
    for (const above of callersOf(next.cards, info)) listed.set(above, plus(listed.get(above), sumOf(info)))
  }
  for (const { id, below_usd: usd = 0, below_unpriced: unpriced = 0 } of sessions) {
    const card = next.cards[id]
    const known = listed.get(id) ?? NOTHING
    const unlisted = { usd: Math.max(0, usd - known.usd), unpriced: Math.max(0, unpriced - known.unpriced) }
    if (card) next.cards[id] = { ...card, unlisted }
  }
  return next
}

/** What was asked before this page came, for those that wait and of whose questions nothing is known yet. */
export function withAsks(state: Overview, pending: PendingAsk[]): Overview {
  const cards = { ...state.cards }
  for (const [id, card] of Object.entries(state.cards)) {
    if (card.info.status !== 'waiting_approval' || card.asks.length + card.questions.length > 0) continue
    const own = pending.filter(({ session }) => session === id)
    const asks = own.flatMap(({ permission }) => permission ?? [])
    const questions = own.flatMap(({ question }) => question ?? [])
    if (asks.length + questions.length > 0) cards[id] = { ...card, asks, questions }
  }
  return { ...state, cards }
}

/** All that a session works for, the nearest first. */
export function callersOf(cards: Record<string, { info: SessionFamily }>, info: SessionFamily): string[] {
  const above: string[] = []
  for (let at = info.parent; at && at !== info.id && !above.includes(at); at = cards[at]?.info.parent) above.push(at)
  return above
}

type SessionFamily = Pick<SessionInfo, 'id' | 'parent'>

export function sumOf({ usage }: Pick<SessionInfo, 'usage'>): Sum {
  return { usd: usage?.cost_usd ?? 0, unpriced: usage?.unpriced ?? 0 }
}

export function plus(one: Sum = NOTHING, other: Sum = NOTHING): Sum {
  return { usd: one.usd + other.usd, unpriced: one.unpriced + other.unpriced }
}

export function reduceOverview(state: Overview, event: AnyEvent): Overview {
  switch (event.type) {
    case 'metrics':
      // Those that a chart asked for come beside the usual ones.
      if (event.agents?.length) return state
      return { ...state, metrics: event, cpu: [...state.cpu, event.system_cpu_percent ?? 0].slice(-SPARK_LENGTH * 2) }
    case 'mcp.status':
      return { ...state, mcp: { ...state.mcp, [event.server]: event } }
    case 'session.created':
    case 'session.updated': {
      // What it is told with may have been put together before the last number was given out.
      const seq = Math.max(event.info.seq ?? 0, event.seq ?? 0)
      return withSessions(state, [{ ...event.info, seq }], false)
    }
    case 'session.deleted': {
      const { [event.session ?? '']: _gone, ...cards } = state.cards
      return { ...state, cards }
    }
  }
  const known = state.cards[event.session ?? '']
  if (!known) return state
  const card = reduceCard(known, event)
  return card === known ? state : { ...state, cards: { ...state.cards, [known.info.id]: card } }
}

function reduceCard(card: Card, event: AnyEvent): Card {
  const at = event.at ?? card.info.updated_at
  const now = (change: Partial<SessionInfo>): SessionInfo => ({
    ...card.info,
    ...change,
    updated_at: at,
    seq: Math.max(card.info.seq ?? 0, event.seq ?? 0),
  })
  switch (event.type) {
    case 'status':
      return { ...card, info: now({ status: event.status }), line: lineOf(card, event) }
    case 'tool.started':
      return { ...card, line: [event.tool, event.summary ?? ''].join(' ') }
    case 'turn.started':
      return {
        ...card,
        // How many exactly is asked when it is listed: here it tells that something was said in it.
        info: now({ status: 'thinking', turn_count: event.turn, message_count: (card.info.message_count ?? 0) + 1 }),
        turnStartedAt: at,
        line: '',
      }
    case 'turn.completed':
      return {
        ...card,
        info: now({ status: statusAfter(event.reason) }),
        turnStartedAt: null,
        asks: [],
        questions: [],
        line: event.error?.message ?? event.text ?? '',
      }
    case 'usage.updated': {
      const context = event.usage.context_tokens ?? 0
      return { ...card, info: now({ usage: event.usage }), pulse: [...card.pulse, context].slice(-SPARK_LENGTH) }
    }
    case 'permission.requested':
      return {
        ...card,
        info: now({ status: 'waiting_approval' }),
        asks: [...card.asks.filter((ask) => ask.id !== event.ask.id), event.ask],
      }
    case 'permission.resolved':
      return { ...card, asks: card.asks.filter((ask) => ask.id !== event.ask_id) }
    case 'question.asked':
      return {
        ...card,
        info: now({ status: 'waiting_approval' }),
        questions: [...card.questions.filter((question) => question.id !== event.question.id), event.question],
      }
    case 'question.answered':
      return { ...card, questions: card.questions.filter((question) => question.id !== event.question_id) }
    default:
      return card
  }
}

/** What is asked stands on the card itself, and the call goes on where it was. */
function lineOf(card: Card, { status, detail }: Extract<AnyEvent, { type: 'status' }>): string {
  if (status === 'waiting_approval') return card.line
  return detail || (status === 'executing_tool' ? '' : card.line)
}
