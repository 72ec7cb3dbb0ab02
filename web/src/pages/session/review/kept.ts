import { create } from 'zustand'

/** How changes are shown: chosen once, kept in this browser. */
export interface View {
  split: boolean
  wrap: boolean
  words: boolean
}

const VIEW = 'openagent.review.view'
const KEPT = 'openagent.review.kept'
/** The oldest are forgotten beyond this. */
const MOST = 2000

function read<T>(key: string, otherwise: T): T {
  try {
    return (JSON.parse(localStorage.getItem(key) ?? 'null') as T | null) ?? otherwise
  } catch {
    return otherwise
  }
}

export const useView = create<View>(() => read(VIEW, { split: window.innerWidth >= 1400, wrap: false, words: true }))

export function changeView(change: Partial<View>): void {
  useView.setState(change)
  localStorage.setItem(VIEW, JSON.stringify(useView.getState()))
}

/** What a person has looked at and keeps, by the change's version: once it changes again it is not kept any more. */
export const useKept = create<{ kept: Set<string> }>(() => ({ kept: new Set(read<string[]>(KEPT, [])) }))

export function keep(names: string[], on: boolean): void {
  const kept = new Set(useKept.getState().kept)
  for (const name of names) {
    kept.delete(name)
    if (on) kept.add(name)
  }
  useKept.setState({ kept })
  localStorage.setItem(KEPT, JSON.stringify([...kept].slice(-MOST)))
}

export const hunkName = (version: string, hunk: number) => `${version}#${hunk}`
