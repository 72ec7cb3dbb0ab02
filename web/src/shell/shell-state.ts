import { create } from 'zustand'

interface Shell {
  newSession: boolean
  /** The template that the new session is to start from; empty: none yet. */
  template: string
  importing: boolean
  palette: boolean
}

/** What lies over the page, whichever page it is. */
export const useShell = create<Shell>(() => ({ newSession: false, template: '', importing: false, palette: false }))
