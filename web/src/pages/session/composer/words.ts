/** The word before the cursor that can be completed: `/command` at the beginning, `@something` anywhere. */
export interface Word {
  kind: 'command' | 'mention'
  start: number
  word: string
}

export function wordAt(text: string, cursor: number): Word | null {
  const before = text.slice(0, cursor)
  const command = /^\/([\w:.-]*)$/.exec(before)
  if (command) return { kind: 'command', start: 0, word: command[1] ?? '' }
  const mention = /(?:^|[\s(])@([^\s@]*)$/.exec(before)
  if (mention) return { kind: 'mention', start: before.length - (mention[1]?.length ?? 0) - 1, word: mention[1] ?? '' }
  return null
}

/** `/name and more`, or null for anything else; many messages begin with a slash and mean a path. */
export function commandIn(text: string): { name: string; given: string } | null {
  const found = /^\/([\w:.-]+)(?:\s+([\s\S]*))?$/.exec(text.trim())
  return found ? { name: found[1] ?? '', given: (found[2] ?? '').trim() } : null
}

export const optionId = (place: number): string => `suggestion-${place}`
