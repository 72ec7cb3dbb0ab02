import { create } from 'zustand'
import { messageOf } from '@/lib/ask'
import type { AgentHistory, ImportedAgent, ImportedHistory } from '@/protocol/types'
import { daemon } from '@/state/daemon'

export type ForeignAgent = AgentHistory['agent']

interface Bringing {
  /** Whose sessions are being brought; null: nobody’s. */
  whose: ForeignAgent | 'all' | null
  /** What the last import of this tab brought. */
  brought: ImportedHistory | null
  problem: string
}

/** One import at a time, whichever page asked for it: who leaves the page finds it as far as it is by then. */
export const useBringing = create<Bringing>(() => ({ whose: null, brought: null, problem: '' }))

/** Whether it came to its end. */
export async function bring(whose: ForeignAgent | 'all'): Promise<boolean> {
  if (useBringing.getState().whose) return false
  useBringing.setState({ whose, brought: null, problem: '' })
  try {
    const brought = await daemon.request('history.import', whose === 'all' ? {} : { agents: [whose] })
    useBringing.setState({ whose: null, brought })
    return true
  } catch (problem) {
    useBringing.setState({ whose: null, problem: messageOf(problem) })
    return false
  }
}

/** What came of it for one agent, in words. */
export function broughtWords(agent: ImportedAgent): string {
  const told = [
    [agent.new, 'new'],
    [agent.grown, 'went on there'],
    [agent.apart, 'went on both here and there, so each has its own now'],
    [agent.unchanged, 'as before'],
    [agent.dropped, 'that you deleted here'],
  ] as const
  const words = told.flatMap(([count, word]) => (count ? [`${count.toLocaleString('en-GB')} ${word}`] : []))
  return words.join(', ') || 'nothing was said in any session'
}

/** `214 of Claude Code, 31 of codex` */
export function whoseWords(agents: { title: string; sessions?: number }[]): string {
  return agents.map(({ title, sessions = 0 }) => `${sessions.toLocaleString('en-GB')} of ${title}`).join(', ')
}

export function sessionsWords(count: number): string {
  return `${count.toLocaleString('en-GB')} session${count === 1 ? '' : 's'}`
}
