import { cost } from '@/lib/format'
import type { SessionInfo } from '@/protocol/types'
import { callersOf, NOTHING, plus, type Sum, sumOf, useOverview } from './overview'

type Cards = Record<string, { info: Pick<SessionInfo, 'id' | 'parent' | 'usage'>; unlisted: Sum }>

/** Every card of a page asks for its sum whenever one session changes: they are made once for all of them. */
const sums = new WeakMap<Cards, Map<string, Sum>>()

function treeOf(cards: Cards, id: string): Sum {
  const known = sums.get(cards) ?? summed(cards)
  sums.set(cards, known)
  return known.get(id) ?? NOTHING
}

/** What a session has cost together with all that work for it, at any depth: the one figure that is shown for it. */
export function spentBy(cards: Cards, id: string): number {
  return treeOf(cards, id).usd
}

/** The same in words, which do not take an unknown price for none. */
export function costBy(cards: Cards, id: string): string {
  const { usd, unpriced } = treeOf(cards, id)
  return cost(usd, unpriced)
}

/** Each session's cost is added to its own sum and to those of all above it. */
function summed(cards: Cards): Map<string, Sum> {
  const found = new Map<string, Sum>()
  for (const { info, unlisted } of Object.values(cards)) {
    found.set(info.id, plus(plus(found.get(info.id), sumOf(info)), unlisted))
    for (const above of callersOf(cards, info)) found.set(above, plus(found.get(above), sumOf(info)))
  }
  return found
}

/** What a session has cost, as it grows. */
export function useSpent(id: string): number {
  return useOverview(({ cards }) => spentBy(cards, id))
}

export function useCost(id: string): string {
  return useOverview(({ cards }) => costBy(cards, id))
}
