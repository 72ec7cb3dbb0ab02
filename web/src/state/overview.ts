import { create } from 'zustand'
import type { AnyEvent, McpServerStatus, Metrics, PermissionAsk, Question, SessionInfo } from '@/protocol/types'

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
}

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
  return { line: '', asks: [], questions: [], pulse: [], turnStartedAt: null, ...known, info }
}

/** A list of sessions as the daemon gave it: the newest word on each, and what is known of it stays. */
export function withSessions(state: Overview, sessions: SessionInfo[], whole: boolean): Overview {
  const cards: Record<string, Card> = whole ? {} : { ...state.cards }
  for (const info of sessions) cards[info.id] = cardOf(info, state.cards[info.id])
  return { ...state, cards, loaded: true }
}

export function reduceOverview(state: Overview, event: AnyEvent): Overview {
  switch (event.type) {
    case 'metrics':
      return { ...state, metrics: event, cpu: [...state.cpu, event.system_cpu_percent ?? 0].slice(-SPARK_LENGTH * 2) }
    case 'mcp.status':
      return { ...state, mcp: { ...state.mcp, [event.server]: event } }
    case 'session.created':
    case 'session.updated':
      return withSessions({ ...state, loaded: state.loaded }, [event.info], false)
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
      return { ...card, info: now({ status: event.status }), line: event.detail || card.line }
    case 'turn.started':
      return {
        ...card,
        info: now({ status: 'thinking', turn_count: event.turn }),
        turnStartedAt: at,
        line: '',
      }
    case 'turn.completed':
      return {
        ...card,
        info: now({ status: event.reason === 'error' ? 'error' : 'idle' }),
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
