import { useAsk } from '@/lib/ask'
import { useLive } from '@/lib/live'
import type { AgentInfo } from '@/protocol/types'
import type { Agent } from '@/state/conversation'
import { daemon } from '@/state/daemon'
import { useOverview } from '@/state/overview'
import { type AgentView, viewOf } from './views'

const NOBODY: AgentInfo[] = []
const NONE: Record<string, Agent> = {}

/** The tree that a session belongs to, its callers first; asked again when one begins or ends. */
export function useTree(session: string): AgentInfo[] {
  useLive(['subagent.started', 'subagent.finished', 'turn.completed', 'session.deleted'], 'agents.list')
  const tree = useAsk('agents.list', { session }, { placeholderData: (before) => before })
  return tree.data?.agents ?? NOBODY
}

/** What the session's own events told of those that work for it. */
export function useToldAgents(session: string): Record<string, Agent> {
  return daemon.session(session)((state) => state.conversation?.agents ?? NONE)
}

export function useAgentViews(session: string, ids: string[], members: AgentInfo[]): AgentView[] {
  const told = useToldAgents(session)
  const cards = useOverview((state) => state.cards)
  return ids.map((id) =>
    viewOf(id, {
      member: members.find((one) => one.session.id === id),
      agent: told[id],
      info: cards[id]?.info,
    }),
  )
}
