export interface Line {
  kind: 'added' | 'removed' | 'same' | 'hunk'
  text: string
  old: number | null
  now: number | null
}

/** A unified diff as lines with their numbers. File heads are left out: the place around it names the file. */
export function linesOf(patch: string): Line[] {
  const lines: Line[] = []
  let old = 0
  let now = 0
  let inHunk = false
  for (const text of patch.split('\n')) {
    const hunk = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@(.*)$/.exec(text)
    if (hunk) {
      old = Number(hunk[1])
      now = Number(hunk[2])
      inHunk = true
      lines.push({ kind: 'hunk', text: hunk[3]?.trim() ?? '', old: null, now: null })
    } else if (!inHunk) {
      // The head: ---, +++, index …
    } else if (text.startsWith('+')) {
      lines.push({ kind: 'added', text: text.slice(1), old: null, now: now++ })
    } else if (text.startsWith('-')) {
      lines.push({ kind: 'removed', text: text.slice(1), old: old++, now: null })
    } else if (text.startsWith(' ')) {
      lines.push({ kind: 'same', text: text.slice(1), old: old++, now: now++ })
    }
  }
  return lines
}
