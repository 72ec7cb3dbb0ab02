import { create } from 'zustand'

export const useQuickOpen = create<{ open: boolean }>(() => ({ open: false }))

export const openQuickly = (): void => useQuickOpen.setState({ open: true })
export const closeQuickly = (): void => useQuickOpen.setState({ open: false })

const MOST = 20
const recent = new Map<string, string[]>()

/** The files that were opened last in a session, the newest first. */
export function recentIn(session: string): string[] {
  return recent.get(session) ?? []
}

export function opened(session: string, path: string): void {
  recent.set(session, [path, ...recentIn(session).filter((one) => one !== path)].slice(0, MOST))
}
