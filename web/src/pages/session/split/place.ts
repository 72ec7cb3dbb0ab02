/** What a session shows in place of the conversation. */
export const TABS = ['review', 'files', 'terminal'] as const
/** What it shows beside the conversation. */
export const BESIDE = ['review', 'files', 'terminal', 'agent'] as const

export type Tab = (typeof TABS)[number]
export type Beside = (typeof BESIDE)[number]

/** Where a person is in a session, as the address says it: a link brings it back. */
export interface Place {
  tab?: Tab
  beside?: Beside
  file?: string
  line?: number
  /** The sub-agent whose conversation stands beside this one. */
  agent?: string
  /** The number of a message. */
  at?: number
}

/** What of an address means something here; the rest is left out of it. */
export function placeFrom(search: Record<string, unknown>): Place {
  const beside = BESIDE.find((one) => one === search.beside)
  const tab = beside ? undefined : TABS.find((one) => one === search.tab)
  return {
    tab,
    beside,
    file: typeof search.file === 'string' && search.file ? search.file : undefined,
    line: isNumber(search.line) && search.line > 0 ? search.line : undefined,
    agent: typeof search.agent === 'string' && search.agent ? search.agent : undefined,
    at: isNumber(search.at) ? search.at : undefined,
  }
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value)
}
