import { expect, it } from 'vitest'
import type { AgentMetrics } from '@/protocol/types'
import { performances } from './performance'

const agent = (id: string, more: Partial<AgentMetrics>): AgentMetrics => ({
  id,
  name: id,
  status: 'idle',
  uptime_s: 1,
  messages: 2,
  turns: 1,
  usage: {},
  ...more,
})

const ALL = [
  agent('a', { template: 'coder', turns: 3, avg_response_ms: 100, tools_used: { shell: 2 }, usage: { cost_usd: 1 } }),
  agent('b', {
    template: 'coder',
    turns: 1,
    avg_response_ms: 500,
    error_rate: 1,
    failed_turns: 1,
    tools_used: { shell: 1 },
  }),
  agent('c', { turns: 1 }),
  agent('d', { turns: 0 }),
]

it('lists agents that have worked', () => {
  expect(performances(ALL, 'agent').map(({ key }) => key)).toEqual(['a', 'b', 'c'])
})

it('takes the agents of a template together, each counting by its turns', () => {
  const [coder, none] = performances(ALL, 'template')
  expect(coder).toMatchObject({
    name: 'coder',
    agents: 2,
    turns: 4,
    answerMs: 200,
    errorRate: 0.25,
    failedTurns: 1,
    tools: { shell: 3 },
    costUsd: 1,
  })
  expect(none).toMatchObject({ name: '', agents: 1, answerMs: 0 })
})
