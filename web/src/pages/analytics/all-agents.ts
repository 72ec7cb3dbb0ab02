import type { AgentDay } from '@/protocol/types'

/** A day or a month, and what each agent had of it. */
export type Slice = { key: string } & Record<string, number | string>

const two = (part: number) => String(part).padStart(2, '0')

function following(key: string): string {
  const [year = 0, month = 1, day] = key.split('-').map(Number)
  const next = day === undefined ? new Date(year, month, 1) : new Date(year, month - 1, day + 1)
  const begun = `${next.getFullYear()}-${two(next.getMonth() + 1)}`
  return day === undefined ? begun : `${begun}-${two(next.getDate())}`
}

/** From the first to the last, quiet ones included: a gap in the chart is a gap in the work. */
export function slices(parts: AgentDay[], measure: 'cost_usd' | 'tokens'): Slice[] {
  const found = new Map<string, Slice>()
  const keys = parts.map(({ key }) => key).sort()
  const last = keys.at(-1) ?? ''
  for (let key = keys[0] ?? ''; key && key <= last; key = following(key)) found.set(key, { key })
  for (const part of parts) {
    const slice = found.get(part.key)
    if (slice) slice[part.agent] = Number(slice[part.agent] ?? 0) + part[measure]
  }
  return [...found.values()]
}
