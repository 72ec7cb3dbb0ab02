import type { PathPlace } from '@/parts/paths/parse'
import type { Display, ToolCallPart } from '@/protocol/types'
import { TOOLS } from '@/protocol/words'

/** The file that a call reads or changes, and the first line that it is about. */
export function placeOf(call: ToolCallPart, display: Display): PathPlace | null {
  const given = call.arguments ?? {}
  const isFile = call.name !== 'list_dir' && ['read', 'edit'].includes(TOOLS[call.name]?.kind ?? '')
  const path = isFile && typeof given.path === 'string' ? given.path : display.files?.[0]?.path
  if (!path || path.startsWith('output:')) return null
  const start = typeof given.start === 'number' && given.start > 1 ? given.start : undefined
  return { path, line: firstChanged(display.diff ?? '') ?? start }
}

/** The first line of a patch that is not as it was. */
export function firstChanged(patch: string): number | undefined {
  let line = 0
  for (const text of patch.split('\n')) {
    const hunk = /^@@ -\d+(?:,\d+)? \+(\d+)/.exec(text)
    if (hunk) line = Number(hunk[1])
    else if (line > 0 && /^[+-]/.test(text)) return line
    else if (line > 0 && text.startsWith(' ')) line += 1
  }
  return undefined
}
