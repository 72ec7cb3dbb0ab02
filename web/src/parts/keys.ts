import type { KeyLook } from '@/protocol/types'

/** Whose a key is, by its beginning: the longest that fits counts. */
export function whose(looks: KeyLook[], key: string): KeyLook | null {
  const fitting = looks.filter(({ prefix }) => key.trim().startsWith(prefix))
  return fitting.sort((one, other) => other.prefix.length - one.prefix.length)[0] ?? null
}

/** The providers whose keys are known, and what people call them. */
export function vendors(looks: KeyLook[]): { value: string; label: string }[] {
  return [...new Map(looks.map(({ provider, title }) => [provider, title]))].map(([value, label]) => ({ value, label }))
}
