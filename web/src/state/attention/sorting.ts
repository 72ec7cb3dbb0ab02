import { isRunning } from '../conversation'
import type { Card } from '../overview'
import type { Looked } from './looked'

/** Sessions by who has to act next. Sub-agents are part of the session they work for. */
export interface ByTurn {
  /** Questions first, then what failed and was not looked at. */
  needsYou: Card[]
  running: Card[]
  /** Ended since they were looked at last. */
  done: Card[]
  rest: Card[]
  /** Begun with another agent, and nothing was said in them here yet. */
  brought: Card[]
  archived: Card[]
}

export function isBrought({ info }: Pick<Card, 'info'>): boolean {
  return info.origin != null && (info.message_count ?? 0) <= (info.origin.messages ?? 0)
}

export function isWaiting({ info }: Card): boolean {
  return info.status === 'waiting_approval'
}

export function isNews({ info }: Card, looked: Looked): boolean {
  return (info.turn_count ?? 0) > 0 && info.updated_at > (looked.at[info.id] ?? looked.since)
}

export function sorted(cards: Record<string, Card>, looked: Looked): ByTurn {
  const found: ByTurn = { needsYou: [], running: [], done: [], rest: [], brought: [], archived: [] }
  for (const card of Object.values(cards)) if (!card.info.parent) found[placeOf(card, looked)].push(card)
  for (const group of Object.values(found) as Card[][])
    group.sort((one, other) => other.info.updated_at - one.info.updated_at)
  found.needsYou.sort((one, other) => Number(isWaiting(other)) - Number(isWaiting(one)))
  return found
}

function placeOf(card: Card, looked: Looked): keyof ByTurn {
  const { info } = card
  if (isWaiting(card) || info.status === 'unanswered') return 'needsYou'
  if (isRunning(info)) return 'running'
  if (info.archived) return 'archived'
  if (isBrought(card)) return 'brought'
  if (!isNews(card, looked)) return 'rest'
  return info.status === 'error' || info.status === 'interrupted' ? 'needsYou' : 'done'
}

/** The rest by project: the folder worked in last comes first. */
export function byProject(cards: Card[]): [string, Card[]][] {
  const found = new Map<string, Card[]>()
  for (const card of cards) found.set(card.info.cwd, [...(found.get(card.info.cwd) ?? []), card])
  return [...found]
}
