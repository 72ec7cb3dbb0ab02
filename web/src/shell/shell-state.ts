import { create } from 'zustand'

/** What lies over the page, whichever page it is. */
export const useShell = create<{ newSession: boolean; palette: boolean }>(() => ({ newSession: false, palette: false }))
