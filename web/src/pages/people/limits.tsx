import { NumberInput } from '@mantine/core'
import { useState } from 'react'
import { money, tokens } from '@/lib/format'
import type { Limits } from '@/protocol/types'

type Field = 'day_usd' | 'day_tokens' | 'turns_a_minute' | 'turns_at_once'

/** What somebody may use, in words; empty: as much as they want. */
export function limitWords({ day_usd, day_tokens, turns_a_minute, turns_at_once }: Limits = {}): string {
  return [
    day_usd != null && `${money(day_usd)} a day`,
    day_tokens != null && `${tokens(day_tokens)} tokens a day`,
    turns_a_minute != null && `${turns_a_minute} turns a minute`,
    turns_at_once != null && `${turns_at_once} turns at once`,
  ]
    .filter(Boolean)
    .join(' · ')
}

/** Limits while they are changed: those that the form does not show stay as they are. */
export function useLimits(given: Limits = {}) {
  const [value, setValue] = useState<Limits>(given)
  return { value, set: (field: Field, to: number | null) => setValue((before) => ({ ...before, [field]: to })) }
}

export function LimitFields({ limits }: { limits: ReturnType<typeof useLimits> }) {
  const field = (name: Field, label: string, more: { prefix?: string; allowDecimal: boolean }) => (
    <NumberInput
      label={label}
      placeholder="no limit"
      min={0}
      thousandSeparator=","
      value={limits.value[name] ?? ''}
      onChange={(to) => limits.set(name, typeof to === 'number' ? to : null)}
      {...more}
    />
  )
  return (
    <fieldset className="people-limits">
      <legend>Limits; days are counted in UTC</legend>
      {field('day_usd', 'Dollars a day', { prefix: '$', allowDecimal: true })}
      {field('day_tokens', 'Tokens a day', { allowDecimal: false })}
      {field('turns_a_minute', 'Turns a minute', { allowDecimal: false })}
      {field('turns_at_once', 'Turns at once', { allowDecimal: false })}
    </fieldset>
  )
}
