import type { Settings } from '@/protocol/types'

export type Mode = NonNullable<Settings['mode']>

export const MODES = ['plan', 'ask', 'edits', 'auto', 'full'] as const satisfies readonly Mode[]

export const modeWords: Record<Mode, string> = {
  plan: 'Reads and plans; changes nothing.',
  ask: 'Asks before anything is changed; what only reads runs on read-only files.',
  edits: 'Edits files freely; asks before other commands.',
  auto: 'Works freely inside the jail, undoable; asks before anything leaves it.',
  full: 'Does what the rules allow without asking. The jail and undo still hold.',
}
