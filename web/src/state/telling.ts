import type { AnyEvent } from '@/protocol/types'
import { LINES, type Line } from '@/protocol/words'

export interface Said {
  tone: Line['tone']
  text: string
  hint: string
  detail: string
}

/** What people are told of an event, in the daemon's own words (protocol/telling.py fills in the same templates). */
export function saidOf(event: AnyEvent): Said[] {
  const lines = Object.hasOwn(LINES, event.type) ? LINES[event.type] : undefined
  return (lines ?? [])
    .filter(({ when }) => (when ?? '').split(' ').every((condition) => holds(condition, event)))
    .map(({ tone, text, hint, detail }) => ({
      tone,
      text: filled(text, event),
      hint: filled(hint ?? '', event),
      detail: filled(detail ?? '', event),
    }))
}

/** What stands in brackets is left out when a field in it is empty. */
function filled(template: string, event: AnyEvent): string {
  return template
    .split(/(\[[^\]]*\])/)
    .map((part) => {
      const optional = part.startsWith('[')
      const { text, complete } = fields(optional ? part.slice(1, -1) : part, event)
      return optional && !complete ? '' : text
    })
    .join('')
    .trim()
}

function fields(template: string, event: AnyEvent): { text: string; complete: boolean } {
  let complete = true
  const text = template.replace(/\{([\w.]+):?(\w*)\}/g, (_, name: string, form: string) => {
    const value = fieldOf(event, name)
    if (AMOUNTS.has(form)) {
      complete &&= Boolean(value)
      return FORMS[form]?.(value ?? 0, event) ?? ''
    }
    if (value === undefined || value === null || value === '' || (Array.isArray(value) && value.length === 0)) {
      complete = false
      return ''
    }
    return FORMS[form]?.(value, event) ?? String(value)
  })
  return { text, complete }
}

function fieldOf(event: AnyEvent, name: string): unknown {
  return name
    .split('.')
    .reduce<unknown>((value, each) => (value as Record<string, unknown> | null | undefined)?.[each], event)
}

function holds(condition: string, event: AnyEvent): boolean {
  if (!condition) return true
  const [name = '', wanted] = condition.split(/!?=/)
  if (wanted !== undefined) return (String(fieldOf(event, name)) === wanted) !== condition.includes('!=')
  return name.startsWith('!') ? !fieldOf(event, name.slice(1)) : Boolean(fieldOf(event, name))
}

const LONGEST = 100
const AMOUNTS = new Set(['number', 'percent', 'part', 'usd', 'money', 'seconds'])
const FORMS: Record<string, (value: unknown, event: AnyEvent) => string> = {
  number: (value) => Math.round(Number(value)).toLocaleString('en'),
  percent: (value) => `${Math.round(Number(value))} %`,
  part: (value) => `${Math.round(100 * Number(value))} %`,
  usd: (value) => `$${Number(value).toFixed(4)}`,
  money: (value, event) =>
    fieldOf(event, 'unit') === 'tokens' ? `${Math.round(Number(value))} tokens` : `$${Number(value).toFixed(2)}`,
  seconds: (value) => `${Math.round(10 * Number(value)) / 10} s`,
  line: (value) => oneLine(String(value)),
  list: (value) => (value as unknown[]).join(', '),
  files: (value) => counted(value, 'file'),
  messages: (value) => counted(value, 'message'),
  words: (value) => String(value).replaceAll('_', ' '),
}

function counted(value: unknown, what: string): string {
  const count = (value as unknown[]).length
  return `${count} ${what}${count === 1 ? '' : 's'}`
}

function oneLine(text: string): string {
  const line = text
    .slice(0, 8 * LONGEST)
    .split(/\s+/)
    .filter(Boolean)
    .join(' ')
  return line.length <= LONGEST && text.length <= 8 * LONGEST ? line : `${line.slice(0, LONGEST - 1)}…`
}
