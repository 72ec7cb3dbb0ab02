import type { Settings } from '@/protocol/types'

export type Mode = NonNullable<Settings['mode']>

export const MODES = ['plan', 'ask', 'edits', 'full'] as const satisfies readonly Mode[]

export const modeWords: Record<Mode, string> = {
  plan: 'Reads and plans; changes nothing.',
  ask: 'Asks before it changes files or runs what could do harm.',
  edits: 'Edits files freely; asks before it runs what could do harm.',
  full: 'Does what the rules allow without asking. The jail and undo still hold.',
}
