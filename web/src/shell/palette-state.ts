import type { ReactNode } from 'react'
import { create } from 'zustand'
import { useShell } from './shell-state'

export const openPalette = (): void => useShell.setState({ palette: true })

export interface Command {
  id: string
  label: string
  description?: string
  leftSection?: ReactNode
  onClick: () => void
}

/** What the page that is open adds to the palette. */
export const usePageCommands = create<{ commands: Command[] }>(() => ({ commands: [] }))
