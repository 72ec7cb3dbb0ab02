import { create } from 'zustand'
import type { Place } from './place'

/** What stood beside a session's conversation when it was last looked at. */
export interface Kept extends Pick<Place, 'beside' | 'file' | 'line' | 'agent'> {
  open: boolean
  /** How much of the width the conversation has, of 1. */
  share: number
}

const FIRST: Kept = { open: false, share: 0.45 }
export const LEAST_SHARE = 0.25
export const MOST_SHARE = 0.75

export const useKept = create<{ bySession: Record<string, Kept> }>(() => ({ bySession: {} }))

export function keptOf(session: string): Kept {
  return useKept.getState().bySession[session] ?? read(session)
}

export function keep(session: string, change: Partial<Kept>): void {
  const next = { ...keptOf(session), ...change }
  useKept.setState(({ bySession }) => ({ bySession: { ...bySession, [session]: next } }))
  try {
    localStorage.setItem(keyOf(session), JSON.stringify(next))
  } catch {
    // A browser that keeps nothing still shows it until it is closed.
  }
}

export function useShare(session: string): number {
  return useKept(({ bySession }) => bySession[session]?.share) ?? read(session).share
}

export function clamped(share: number): number {
  return Math.min(MOST_SHARE, Math.max(LEAST_SHARE, share))
}

function keyOf(session: string): string {
  return `openagent.beside.${session}`
}

function read(session: string): Kept {
  try {
    const stored = JSON.parse(localStorage.getItem(keyOf(session)) ?? 'null') as Partial<Kept> | null
    return stored && typeof stored === 'object' ? { ...FIRST, ...stored, share: clamped(stored.share ?? 0.45) } : FIRST
  } catch {
    return FIRST
  }
}
