import { expect, it } from 'vitest'
import { slices } from './all-agents'

const part = (agent: string, key: string, cost_usd: number) => ({ agent, key, cost_usd, tokens: 10 * cost_usd })

it('puts what each agent cost side by side, with the days between on which nothing happened', () => {
  const found = slices(
    [part('codex', '2026-03-01', 2), part('Claude Code', '2026-02-27', 3), part('codex', '2026-02-27', 1)],
    'cost_usd',
  )
  expect(found).toEqual([
    { key: '2026-02-27', codex: 1, 'Claude Code': 3 },
    { key: '2026-02-28' },
    { key: '2026-03-01', codex: 2 },
  ])
})

it('goes by months over the end of a year', () => {
  const found = slices([part('codex', '2025-11', 2), part('codex', '2026-02', 1)], 'tokens')
  expect(found.map(({ key }) => key)).toEqual(['2025-11', '2025-12', '2026-01', '2026-02'])
  expect(found[0]).toEqual({ key: '2025-11', codex: 20 })
})
