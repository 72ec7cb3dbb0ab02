import type { AgentMetrics } from '@/protocol/types'

/** How an agent works, or all agents of a template together. */
export interface Performance {
  key: string
  name: string
  template: string
  isSubAgent: boolean
  model: string
  agents: number
  turns: number
  answerMs: number
  pace: number
  errorRate: number
  failedTurns: number
  tools: Record<string, number>
  costUsd: number
  unpriced: number
}

export function performances(agents: AgentMetrics[], by: 'agent' | 'template'): Performance[] {
  const worked = agents.filter(({ turns }) => turns > 0)
  if (by === 'agent') return worked.map(one)
  const templates = [...new Set(worked.map(({ template = '' }) => template))]
  const of = (wanted: string) => worked.filter(({ template = '' }) => template === wanted).map(one)
  return templates.map((template) => together(template, of(template))).sort((a, b) => b.turns - a.turns)
}

function one(agent: AgentMetrics): Performance {
  return {
    key: agent.id,
    name: agent.name,
    template: agent.template ?? '',
    isSubAgent: Boolean(agent.parent),
    model: agent.model ?? '',
    agents: 1,
    turns: agent.turns,
    answerMs: agent.avg_response_ms ?? 0,
    pace: agent.tokens_per_second ?? 0,
    errorRate: agent.error_rate ?? 0,
    failedTurns: agent.failed_turns ?? 0,
    tools: agent.tools_used ?? {},
    costUsd: agent.usage.cost_usd ?? 0,
    unpriced: agent.usage.unpriced ?? 0,
  }
}

/** Paces and shares are averaged over the agents that have one, each by its turns. */
function together(template: string, all: Performance[]): Performance {
  const sum = (pick: (row: Performance) => number) => all.reduce((total, row) => total + pick(row), 0)
  const mean = (pick: (row: Performance) => number, counts = (_: Performance) => true) => {
    const rows = all.filter(counts)
    const turns = rows.reduce((total, row) => total + row.turns, 0)
    return turns ? rows.reduce((total, row) => total + pick(row) * row.turns, 0) / turns : 0
  }
  const tools: Record<string, number> = {}
  for (const row of all) for (const [name, times] of Object.entries(row.tools)) tools[name] = (tools[name] ?? 0) + times
  return {
    key: template,
    name: template,
    template,
    isSubAgent: false,
    model: '',
    agents: all.length,
    turns: sum((row) => row.turns),
    answerMs: mean(
      (row) => row.answerMs,
      (row) => row.answerMs > 0,
    ),
    pace: mean(
      (row) => row.pace,
      (row) => row.pace > 0,
    ),
    errorRate: mean((row) => row.errorRate),
    failedTurns: sum((row) => row.failedTurns),
    tools,
    costUsd: sum((row) => row.costUsd),
    unpriced: sum((row) => row.unpriced),
  }
}
