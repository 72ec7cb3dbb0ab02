import type { ToolCallPart, ToolResultPart } from '@/protocol/types'
import { AgentLine } from './AgentLine'
import { useAgentViews, useToldAgents, useTree } from './use-agents'
import { agentsOfCall } from './views'

/** Below a call that hands work on: everybody it started, live. */
export default function CallAgents(props: { session: string; call: ToolCallPart; result: ToolResultPart | null }) {
  const members = useTree(props.session)
  const told = useToldAgents(props.session)
  const ids = agentsOfCall(props.call, props.result, told, members)
  const views = useAgentViews(props.session, ids, members)
  if (views.length === 0) return null
  return (
    <ul className="agent-list agent-list-call" aria-label="Sub-agents">
      {views.map((view) => (
        <li key={view.id}>
          <AgentLine agent={view} />
        </li>
      ))}
    </ul>
  )
}
