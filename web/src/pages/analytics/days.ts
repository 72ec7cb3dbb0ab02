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

const HOURS_THAT_TELL = 2
const DAYS_THAT_TELL = 7

/**
 * What will have been spent: today goes on at today's rate, the days to come cost what the last seven did on average.
 * In the first hours of a day there is too little to go by, so the last days' rate is used.
 */
export function projected(rows: UsageRow[], now: Date): { today: number; endOfDay: number; endOfMonth: number } {
  const costs = new Map(rows.map((row) => [row.key, row.cost_usd]))
  const today = costs.get(keyOf(now)) ?? 0
  const before = Array.from({ length: DAYS_THAT_TELL - 1 }, (_, index) => {
    return costs.get(keyOf(new Date(now.getFullYear(), now.getMonth(), now.getDate() - index - 1)))
  })
  const known = before.filter((cost) => cost !== undefined)
  const hours = now.getHours() + now.getMinutes() / 60
  const byHours = hours >= HOURS_THAT_TELL ? (today / hours) * 24 : Math.max(today, average(known))
  const endOfDay = Math.max(today, byHours)
  const perDay = average([...before.map((cost) => cost ?? 0), endOfDay].slice(-DAYS_THAT_TELL))
  const lastOfMonth = new Date(now.getFullYear(), now.getMonth() + 1, 0).getDate()
  const soFar = rows
    .filter((row) => row.key.startsWith(keyOf(now).slice(0, 8)) && row.key !== keyOf(now))
    .reduce((sum, row) => sum + row.cost_usd, 0)
  return { today, endOfDay, endOfMonth: soFar + endOfDay + perDay * (lastOfMonth - now.getDate()) }
}

function average(values: number[]): number {
  return values.length > 0 ? values.reduce((sum, value) => sum + value, 0) / values.length : 0
}
