import { useMemo } from 'react'
import { useOverview } from '../overview'
import { useLooked } from './looked'
import { type ByTurn, sorted } from './sorting'

export { look } from './looked'
export { type ByTurn, byProject, isBrought, isWaiting } from './sorting'

/** The sessions by who has to act next: the one sorting that every figure is counted from. */
export function useByTurn(): ByTurn {
  const cards = useOverview((state) => state.cards)
  const looked = useLooked()
  return useMemo(() => sorted(cards, looked), [cards, looked])
}
