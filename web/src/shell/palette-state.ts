import { type ReactNode, useEffect } from 'react'
import { create } from 'zustand'
import type { SessionInfo } from '@/protocol/types'
import { useShell } from './shell-state'

export const openPalette = (): void => useShell.setState({ palette: true })

export interface Command {
  id: string
  label: string
  description?: string
  keywords?: string[]
  leftSection?: ReactNode
  onClick: () => void
}

/** The session that is open: the palette offers what can be done with it. */
export const useOpenSession = create<{ open: { info: SessionInfo; undo: () => void } | null }>(() => ({ open: null }))

export function useInPalette(info: SessionInfo, undo: () => void): void {
  useEffect(() => useOpenSession.setState({ open: { info, undo } }), [info, undo])
  useEffect(() => () => useOpenSession.setState({ open: null }), [])
}
