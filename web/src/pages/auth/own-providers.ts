import type { ConfigValue } from '@/protocol/types'

export interface OwnProvider {
  name: string
  kind: string
  url: string
  /** Where it is said: a file with its line. */
  source: string
}

/** The providers that the configuration names, from its flat list of settings. */
export function ownProviders(values: ConfigValue[]): OwnProvider[] {
  const found = new Map<string, OwnProvider>()
  for (const { key, value, source } of values) {
    const match = /^providers\.("[^"]+"|[^.]+)\.(kind|base_url)$/.exec(key)
    if (!match) continue
    const name = match[1]!.replaceAll('"', '')
    const known = found.get(name) ?? { name, kind: '', url: '', source: '' }
    found.set(name, {
      ...known,
      [match[2] === 'kind' ? 'kind' : 'url']: String(value ?? ''),
      source: source === 'default' ? known.source : source,
    })
  }
  return [...found.values()].sort((one, other) => one.name.localeCompare(other.name))
}
