export interface Line {
  kind: 'added' | 'removed' | 'same' | 'hunk'
  text: string
  old: number | null
  now: number | null
}

export interface FileDiff {
  /** Empty where the diff does not name it. */
  path: string
  /** What becomes of the file as a whole. */
  fate: 'new' | 'gone' | 'changed'
  lines: Line[]
  added: number
  removed: number
}

const HUNK = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@(.*)$/

/** A unified diff, file by file. How long a hunk is its head says: what looks like a head within it is text. */
export function filesOf(patch: string): FileDiff[] {
  const files: FileDiff[] = []
  let [old, now, oldLeft, nowLeft] = [0, 0, 0, 0]
  let before = ''
  const current = (): FileDiff => {
    if (files.length === 0) files.push({ path: '', fate: 'changed', lines: [], added: 0, removed: 0 })
    return files.at(-1)!
  }
  for (const text of patch.split('\n')) {
    const hunk = HUNK.exec(text)
    const within = oldLeft > 0 || nowLeft > 0
    if (within && text.startsWith('+')) {
      current().lines.push({ kind: 'added', text: text.slice(1), old: null, now: now++ })
      current().added += 1
      nowLeft -= 1
    } else if (within && text.startsWith('-')) {
      current().lines.push({ kind: 'removed', text: text.slice(1), old: old++, now: null })
      current().removed += 1
      oldLeft -= 1
    } else if (within && (text.startsWith(' ') || text === '')) {
      current().lines.push({ kind: 'same', text: text.slice(1), old: old++, now: now++ })
      oldLeft -= 1
      nowLeft -= 1
    } else if (hunk) {
      old = Number(hunk[1])
      now = Number(hunk[3])
      oldLeft = Number(hunk[2] ?? 1)
      nowLeft = Number(hunk[4] ?? 1)
      current().lines.push({ kind: 'hunk', text: hunk[5]?.trim() ?? '', old: null, now: null })
    } else if (text.startsWith('--- ')) before = named(text)
    else if (text.startsWith('+++ ')) {
      const after = named(text)
      files.push({
        path: after || before,
        fate: before === '' ? 'new' : after === '' ? 'gone' : 'changed',
        lines: [],
        added: 0,
        removed: 0,
      })
    }
  }
  return files
}

/** The name in a head, without the sides' prefixes; empty for a file that is not there. */
function named(head: string): string {
  const name = head.slice(4).split('\t')[0]!.trim()
  return name === '/dev/null' ? '' : name.replace(/^[ab]\//, '')
}

/** A unified diff as lines with their numbers. File heads are left out: the place around it names the file. */
export function linesOf(patch: string): Line[] {
  return filesOf(patch).flatMap(({ lines }) => lines)
}

/** The first and the last line of the file that are shown, as it is now and as it would be. */
export function placesOf(lines: Line[]): [number, number] | null {
  const numbers = lines.flatMap(({ old, now }) => [old ?? now ?? 0]).filter(Boolean)
  return numbers.length > 0 ? [Math.min(...numbers), Math.max(...numbers)] : null
}

/** What a cut leaves out, for who may want it: `… 412 more lines in 3 files: show all`. */
export function leftOut(lines: number, places: number, place = 'file'): string {
  const where = places > 1 ? ` in ${places} ${place}s` : ''
  return `… ${lines} more ${lines === 1 ? 'line' : 'lines'}${where}: show all`
}
