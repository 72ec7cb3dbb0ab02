import { create } from 'zustand'

const KEPT = 'openagent.rail'

/** Whether a person has folded the rail to its icons; kept in the browser. */
export const useRail = create<{ folded: boolean }>(() => ({ folded: localStorage.getItem(KEPT) === 'folded' }))

export function toggleRail(): void {
  const folded = !useRail.getState().folded
  localStorage.setItem(KEPT, folded ? 'folded' : 'open')
  useRail.setState({ folded })
}
