import type { ConfigValue, SettingInfo, SettingTable } from '@/protocol/types'

/** A setting with what it is now. */
export interface Entry {
  /** As the configuration names it. */
  key: string
  info: SettingInfo
  value: unknown
  /** default, a file with its line, or a variable. */
  source: string
}

/** Settings that stand together: a table of the file, or one of several under names of one's own. */
export interface Block {
  key: string
  about: string
  entries: Entry[]
}

export interface Group {
  title: string
  blocks: Block[]
}

const GROUPS: [string, string[]][] = [
  ['General', ['']],
  ['Models and providers', ['providers', 'fallback', 'auto', 'prices', 'cache', 'intent', 'wire_profiles']],
  ['Budgets and limits', ['budget', 'limits']],
  ['Jail', ['jail']],
  ['Agents and context', ['agents', 'context', 'index']],
  ['Tools, rules and hooks', ['tools', 'rules', 'hooks']],
  ['The daemon', ['web', 'store', 'backup', 'retention', 'report', 'log']],
]

/** `prices."openai/gpt-5".input` as its parts. */
export function parts(key: string): string[] {
  return [...key.matchAll(/"((?:[^"\\]|\\.)*)"|[^."]+/g)].map((match) => match[1]?.replaceAll('\\"', '"') ?? match[0])
}

/** The other way round. */
export function dotted(names: string[]): string {
  return names.map((name) => (/^[A-Za-z0-9_-]+$/.test(name) ? name : JSON.stringify(name))).join('.')
}

/** What can be set and what is set, together: by group, then by table. */
export function grouped(tables: SettingTable[], values: ConfigValue[]): Group[] {
  const known = new Map(values.map((value) => [value.key, value]))
  const blocks = tables.flatMap((table) => blocksOf(table, values, known))
  return GROUPS.map(([title, tops]) => ({
    title,
    blocks: tops.flatMap((top) => blocks.filter(({ key }) => (parts(key)[0] ?? '') === top)),
  }))
}

function blocksOf(table: SettingTable, values: ConfigValue[], known: Map<string, ConfigValue>): Block[] {
  if (table.listed) return []
  if (!table.names) return [block(table, table.name, values, known)]
  const [top = '', , ...below] = parts(table.name)
  const names = new Set(
    values.map(({ key }) => parts(key)).flatMap(([first, name]) => (first === top ? (name ?? []) : [])),
  )
  return [...names].map((name) => block(table, dotted([top, name, ...below]), values, known))
}

function block(table: SettingTable, key: string, values: ConfigValue[], known: Map<string, ConfigValue>): Block {
  const entries = table.settings.map((info): Entry => {
    const own = key ? `${key}.${info.name}` : info.name
    if (info.kind === 'table') return { key: own, info, ...tableOf(own, values) }
    const found = known.get(own)
    return { key: own, info, value: found?.value ?? info.default ?? null, source: found?.source ?? 'default' }
  })
  return { key, about: table.about, entries }
}

/** A table of names of one's own comes as one value for each of them. */
function tableOf(key: string, values: ConfigValue[]): { value: Record<string, unknown>; source: string } {
  const depth = parts(key).length
  const inside = values.filter((value) => value.key.startsWith(`${key}.`))
  return {
    value: Object.fromEntries(inside.map((each) => [parts(each.key).slice(depth).join('.'), each.value])),
    source: inside[0]?.source ?? 'default',
  }
}

/** Those that match what was typed, and, if so wanted, only what somebody set. */
export function matching(groups: Group[], query: string, changed: boolean): Group[] {
  const text = query.trim().toLowerCase()
  const fits = ({ key, info, value, source }: Entry) =>
    (!changed || source !== 'default') &&
    (!text || `${key} ${info.about} ${JSON.stringify(value)}`.toLowerCase().includes(text))
  return groups
    .map((group) => ({
      ...group,
      blocks: group.blocks
        .map((one) => ({ ...one, entries: one.entries.filter(fits) }))
        .filter(({ entries }) => entries.length > 0),
    }))
    .filter(({ blocks }) => blocks.length > 0)
}

export function lengthOf(groups: Group[]): number {
  return groups.flatMap(({ blocks }) => blocks).reduce((sum, { entries }) => sum + entries.length, 0)
}

/** The first so many settings, in the groups and tables they stand in. */
export function firstOf(groups: Group[], count: number): Group[] {
  let left = count
  const first = (block: Block) => {
    const entries = block.entries.slice(0, left)
    left -= entries.length
    return entries.length > 0 ? [{ ...block, entries }] : []
  }
  return groups.flatMap((group) => {
    const blocks = group.blocks.flatMap(first)
    return blocks.length > 0 ? [{ ...group, blocks }] : []
  })
}

/** A value as it would stand in the file. */
export function written(value: unknown): string {
  return JSON.stringify(value)
}

/** A default in words; empty: there is none. */
export function defaultWords({ default: usual }: SettingInfo): string {
  if (usual === null || usual === undefined || usual === '') return ''
  if (Array.isArray(usual)) return usual.join(', ')
  if (typeof usual === 'boolean') return usual ? 'on' : 'off'
  return typeof usual === 'object' ? '' : String(usual)
}
