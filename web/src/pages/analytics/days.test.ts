import { expect, it } from 'vitest'
import type { UsageRow } from '@/protocol/types'
import { daysOf, fromFirst } from './days'

const row = (key: string, cost_usd: number): UsageRow => ({
  key,
  requests: 1,
  cost_usd,
  usage: { input_tokens: 100, cached_tokens: 60, output_tokens: 5 },
  cached_percent: 60,
  latency_ms: 1500,
})
const noon = new Date(2026, 3, 10, 12, 0)

it('has an entry for every day, quiet ones included', () => {
  const failures = [
    { day: '2026-04-09', code: 'rate_limited', retried: 2 },
    { day: '2026-04-09', code: 'internal', failed: 1 },
  ]
  const days = daysOf([row('2026-04-10', 2)], failures, 3, noon)
  expect(days.map(({ day, cost, failed, retried }) => [day, cost, failed, retried])).toEqual([
    ['2026-04-08', 0, 0, 0],
    ['2026-04-09', 0, 1, 2],
    ['2026-04-10', 2, 0, 0],
  ])
  expect(days[2]).toMatchObject({ sent: 40, cached: 60, received: 5, latency: 1.5 })
})

it('leaves out the days before anything happened, but shows a week', () => {
  const shown = (rows: UsageRow[]) => fromFirst(daysOf(rows, [], 30, noon)).map(({ day }) => day)
  expect(shown([row('2026-04-10', 2)])).toEqual(shown([]))
  expect(shown([])).toHaveLength(7)
  expect(shown([row('2026-03-25', 2)])[0]).toBe('2026-03-25')
})
