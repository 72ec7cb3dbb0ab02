import type { FailureRow, UsageRow } from '@/protocol/types'

export interface Day {
  day: string
  cost: number
  sent: number
  cached: number
  received: number
  latency: number | null
  slow: number | null
  cachedShare: number | null
  failed: number
  retried: number
}

/** Midnight so many days ago, in seconds. */
export function startOfDay(daysAgo: number, now = new Date()): number {
  return new Date(now.getFullYear(), now.getMonth(), now.getDate() - daysAgo).getTime() / 1000
}

function keyOf(date: Date): string {
  const two = (part: number) => String(part).padStart(2, '0')
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`
}

/** One entry for each of the last days, quiet ones included. */
export function daysOf(rows: UsageRow[], failures: FailureRow[], count: number, now = new Date()): Day[] {
  const used = new Map(rows.map((row) => [row.key, row]))
  return Array.from({ length: count }, (_, index) => {
    const day = keyOf(new Date(now.getFullYear(), now.getMonth(), now.getDate() - (count - 1 - index)))
    const row = used.get(day)
    const wrong = failures.filter((one) => one.day === day)
    const cached = row?.usage.cached_tokens ?? 0
    return {
      day,
      cost: row?.cost_usd ?? 0,
      sent: (row?.usage.input_tokens ?? 0) - cached,
      cached,
      received: row?.usage.output_tokens ?? 0,
      latency: row?.latency_ms ? row.latency_ms / 1000 : null,
      slow: row?.slow_latency_ms ? row.slow_latency_ms / 1000 : null,
      cachedShare: row ? (row.cached_percent ?? 0) : null,
      failed: wrong.reduce((sum, one) => sum + (one.failed ?? 0), 0),
      retried: wrong.reduce((sum, one) => sum + (one.retried ?? 0), 0),
    }
  })
}

/** The days from the first on which anything happened, but never fewer than a week: a month of nothing tells nothing. */
export function fromFirst(days: Day[], atLeast = 7): Day[] {
  const first = days.findIndex((day) => day.cost + day.sent + day.cached + day.received + day.failed + day.retried > 0)
  return days.slice(Math.max(0, Math.min(first < 0 ? days.length : first, days.length - atLeast)))
}
