import { create } from 'zustand'

/** Which rows a person opened or closed, by session and key: it outlives a row's scrolling out of sight. */
const useOpen = create<{ chosen: Record<string, boolean> }>(() => ({ chosen: {} }))

export function useRowOpen(session: string, key: string, otherwise: boolean): [boolean, () => void] {
  const name = `${session}/${key}`
  const open = useOpen(({ chosen }) => chosen[name] ?? otherwise)
  return [open, () => useOpen.setState(({ chosen }) => ({ chosen: { ...chosen, [name]: !open } }))]
}

/** Whether thinking is shown without being asked for. */
export const useThinkingShown = create<{ shown: boolean }>(() => ({ shown: stored() }))

const KEY = 'openagent.thinking'

function stored(): boolean {
  try {
    return localStorage.getItem(KEY) === 'shown'
  } catch {
    return false
  }
}

export function toggleThinking(): void {
  const shown = !useThinkingShown.getState().shown
  useThinkingShown.setState({ shown })
  useOpen.setState({ chosen: {} })
  localStorage.setItem(KEY, shown ? 'shown' : 'hidden')
}
