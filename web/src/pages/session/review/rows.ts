import type { Line } from '@/parts/diff-lines'

/** A line and its place among all lines of the patch: colours and changed words are found by it. */
export interface Placed {
  line: Line
  place: number
}

export interface Hunk {
  /** Counted from 1, as the daemon counts them. */
  number: number
  /** What the diff says stands around it: a function's head. */
  around: string
  lines: Placed[]
}

export interface Row {
  left: Placed | null
  right: Placed | null
}

export function hunksOf(lines: Line[]): Hunk[] {
  const hunks: Hunk[] = []
  for (const [place, line] of lines.entries()) {
    if (line.kind === 'hunk') hunks.push({ number: hunks.length + 1, around: line.text, lines: [] })
    else hunks.at(-1)?.lines.push({ line, place })
  }
  return hunks
}

/** Before on the left, after on the right: what was removed stands beside what came in its place. */
export function sideBySide(lines: Placed[]): Row[] {
  const rows: Row[] = []
  let removed: Placed[] = []
  let added: Placed[] = []
  const flush = () => {
    for (let nth = 0; nth < Math.max(removed.length, added.length); nth += 1)
      rows.push({ left: removed[nth] ?? null, right: added[nth] ?? null })
    removed = []
    added = []
  }
  for (const placed of lines) {
    if (placed.line.kind === 'removed') {
      if (added.length > 0) flush()
      removed.push(placed)
    } else if (placed.line.kind === 'added') added.push(placed)
    else {
      flush()
      rows.push({ left: placed, right: placed })
    }
  }
  flush()
  return rows
}

/** A comment as the agent gets it: the file, the line, the line quoted, what the person says. */
export function commentText(path: string, { old, now, text, kind }: Line, comment: string): string {
  const place = kind === 'removed' ? `the line ${old} that you removed` : `line ${now}`
  return `About \`${path}\`, ${place}:\n\n> \`${text.trim() || ' '}\`\n\n${comment.trim()}`
}
