import { create } from 'zustand'

const KEY = 'openagent.looked'
/** The sessions looked at last are remembered; a session older than these counts as looked at. */
const MOST = 500

export interface Looked {
  /** When this browser came here first: what was before is no news. */
  since: number
  /** When each session was looked at last, as its own clock says, in seconds. */
  at: Record<string, number>
}

function kept(): Looked {
  try {
    const found = JSON.parse(localStorage.getItem(KEY) ?? '') as Looked
    if (typeof found.since === 'number' && typeof found.at === 'object') return found
  } catch {
    // Nothing kept, or nothing that can be read: it begins now.
  }
  const begun = { since: Date.now() / 1000, at: {} }
  keep(begun)
  return begun
}

function keep(looked: Looked): void {
  try {
    localStorage.setItem(KEY, JSON.stringify(looked))
  } catch {
    // A browser without storage forgets it with the page.
  }
}

export const useLooked = create<Looked>(kept)

addEventListener('storage', (event) => {
  if (event.key === KEY && event.newValue) useLooked.setState(JSON.parse(event.newValue) as Looked)
})

/** A person has seen this session as it was then. */
export function look(session: string, at: number): void {
  if ((useLooked.getState().at[session] ?? 0) >= at) return
  const all = Object.entries({ ...useLooked.getState().at, [session]: at })
  const newest = all.sort((one, other) => other[1] - one[1]).slice(0, MOST)
  useLooked.setState({ at: Object.fromEntries(newest) })
  keep(useLooked.getState())
}
