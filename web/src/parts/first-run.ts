import { create } from 'zustand'
import { useAsk } from '@/lib/ask'
import { isBrought } from '@/state/attention'
import { useOverview } from '@/state/overview'

/** Whether somebody said to go on without a model, for as long as this tab is open. */
export const useSkipped = create<{ skipped: boolean }>(() => ({ skipped: false }))

/**
 * Whether to ask what should answer before anything else. Nobody is asked who chose a model, or who has a key in the
 * environment and sessions already: the terminal asks the same people.
 */
export function useFirstRun(): boolean {
  const skipped = useSkipped((state) => state.skipped)
  const loaded = useOverview((state) => state.loaded)
  const any = useOverview(({ cards }) => Object.values(cards).some((card) => !isBrought(card)))
  const setup = useAsk('setup.show', {}, { enabled: !any })
  return !skipped && loaded && !any && setup.data !== undefined && !setup.data.chosen
}

/** Nothing would answer a session that names no model. */
export function useNoModel(): boolean {
  const setup = useAsk('setup.show', {})
  return setup.data !== undefined && !setup.data.model
}
