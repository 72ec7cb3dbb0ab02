import { create } from 'zustand'

type Panel = 'context' | 'settings' | 'trust' | null

/** What lies over the session, opened from its header, its menu or by a key. */
export const usePanel = create<{ open: Panel }>(() => ({ open: null }))

/** The answer whose request and response are shown. */
export const useRaw = create<{ number: number | null }>(() => ({ number: null }))

export const showRaw = (number: number | null): void => useRaw.setState({ number })

export const openPanel = (open: Panel): void => usePanel.setState({ open })
