import { Link } from '@tanstack/react-router'
import { duration } from '@/lib/format'
import { useNow } from '@/lib/time'
import { StatusMark } from '@/parts/StatusMark'
import { useCost } from '@/state/tree'
import type { AgentView } from './views'
import './agents.css'

/** One sub-agent: who, what it does or why it failed, how long, what it cost. A click or Enter opens its conversation. */
export function AgentLine({ agent, depth = 0 }: { agent: AgentView; depth?: number }) {
  const cost = useCost(agent.id)
  const what = agent.failure || agent.doing || agent.task
  return (
    <Link
      to="/sessions/$id"
      params={{ id: agent.id }}
      className="agent-line"
      style={depth > 1 ? { marginLeft: (depth - 1) * 12 } : undefined}
      title={agent.task}
    >
      <AgentMark agent={agent} />
      <span className="agent-name cut">{agent.template}</span>
      {agent.background && <span className="agent-note">background</span>}
      <span className="agent-figures mono">
        <Time agent={agent} />
        <span className="agent-cost">{cost}</span>
      </span>
      <span className={agent.failure ? 'agent-what agent-failed' : 'agent-what'}>{what}</span>
      {agent.copy && !agent.running && <span className="agent-what agent-kept">Its edits wait in a copy.</span>}
    </Link>
  )
}

function AgentMark({ agent }: { agent: AgentView }) {
  if (agent.running) return <StatusMark status={agent.status} />
  if (agent.failure) return <StatusMark status="error" />
  return (
    <span className="agent-done" role="img" aria-label="done">
      ✓
    </span>
  )
}

function Time({ agent }: { agent: AgentView }) {
  const now = useNow(1000, agent.running)
  if (agent.running)
    return <time>{duration(1000 * Math.max(0, Math.floor(now - agent.startedAt))).replace('.0', '')}</time>
  return agent.tookMs > 0 ? <time>{duration(agent.tookMs)}</time> : null
}
