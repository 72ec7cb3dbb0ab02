import { expect, test } from 'vitest'
import type { AgentMetrics } from '@/protocol/types'
import { withBeat } from './live'

const agent = (id: string, output: number): AgentMetrics => ({
  id,
  name: id,
  status: 'idle',
  uptime_s: 1,
  messages: 1,
  turns: 1,
  usage: { tokens: { input_tokens: 10, output_tokens: output } },
})

test('tokens are told from one beat to the next, and nobody stays who is told of no more', () => {
  let live = withBeat({}, [agent('a', 5), agent('b', 0)])
  live = withBeat(live, [agent('a', 25)])
  live = withBeat(live, [agent('a', 25)])
  expect(live.a?.paces).toEqual([20, 0])
  expect(Object.keys(live)).toEqual(['a'])
})
