import type { Line } from './diff-lines'

/** From and to, in characters of the line. */
export type Range = [number, number]

/** Longer lines are compared by their beginning and end alone. */
const MOST_WORDS = 160
/** Lines that share less than this are other lines, not changed ones. */
const ALIKE = 0.3

/** Which words of changed lines are other words now, by the line's place. */
export function changedWords(lines: Line[]): Map<number, Range[]> {
  const found = new Map<number, Range[]>()
  let place = 0
  while (place < lines.length) {
    const removed = run(lines, place, 'removed')
    const added = run(lines, removed, 'added')
    if (removed > place && added > removed) {
      const pairs = Math.min(removed - place, added - removed)
      for (let nth = 0; nth < pairs; nth += 1) {
        const [before, after] = compared(lines[place + nth]!.text, lines[removed + nth]!.text)
        if (before.length > 0) found.set(place + nth, before)
        if (after.length > 0) found.set(removed + nth, after)
      }
    }
    place = Math.max(added, place + 1)
  }
  return found
}

function run(lines: Line[], from: number, kind: Line['kind']): number {
  let to = from
  while (lines[to]?.kind === kind) to += 1
  return to
}

/** What of each is not in the other; nothing where they have too little in common for that to say something. */
export function compared(before: string, after: string): [Range[], Range[]] {
  const [old, now] = [wordsOf(before), wordsOf(after)]
  const [keptOld, keptNow] = old.length > MOST_WORDS || now.length > MOST_WORDS ? atTheEnds(old, now) : common(old, now)
  const kept = old.filter((word, place) => keptOld.has(place) && word.trim()).join('').length
  const longer = Math.max(before.replace(/\s/g, '').length, after.replace(/\s/g, '').length)
  if (kept < ALIKE * longer) return [[], []]
  return [rest(old, keptOld), rest(now, keptNow)]
}

function wordsOf(text: string): string[] {
  return text.match(/\w+|\s+|[^\w\s]/g) ?? []
}

function atTheEnds(old: string[], now: string[]): [Set<number>, Set<number>] {
  const [keptOld, keptNow] = [new Set<number>(), new Set<number>()]
  let first = 0
  while (first < Math.min(old.length, now.length) && old[first] === now[first]) {
    keptOld.add(first)
    keptNow.add(first)
    first += 1
  }
  let last = 1
  while (last <= Math.min(old.length, now.length) - first && old.at(-last) === now.at(-last)) {
    keptOld.add(old.length - last)
    keptNow.add(now.length - last)
    last += 1
  }
  return [keptOld, keptNow]
}

/** The longest run of words that both have, in order. */
function common(old: string[], now: string[]): [Set<number>, Set<number>] {
  const width = now.length + 1
  const lengths = new Uint16Array((old.length + 1) * width)
  for (let row = old.length - 1; row >= 0; row -= 1)
    for (let column = now.length - 1; column >= 0; column -= 1)
      lengths[row * width + column] =
        old[row] === now[column]
          ? lengths[(row + 1) * width + column + 1]! + 1
          : Math.max(lengths[(row + 1) * width + column]!, lengths[row * width + column + 1]!)
  const [keptOld, keptNow] = [new Set<number>(), new Set<number>()]
  let [row, column] = [0, 0]
  while (row < old.length && column < now.length) {
    if (old[row] === now[column]) {
      keptOld.add(row)
      keptNow.add(column)
      row += 1
      column += 1
    } else if (lengths[(row + 1) * width + column]! >= lengths[row * width + column + 1]!) row += 1
    else column += 1
  }
  return [keptOld, keptNow]
}

function rest(words: string[], kept: Set<number>): Range[] {
  const ranges: Range[] = []
  let at = 0
  for (const [place, word] of words.entries()) {
    const last = ranges.at(-1)
    const before = words[place - 1] ?? ''
    // A space between two changed words belongs to them.
    const goesOn = last && (last[1] === at || (!before.trim() && last[1] === at - before.length))
    if (!kept.has(place)) {
      if (goesOn) last[1] = at + word.length
      else ranges.push([at, at + word.length])
    }
    at += word.length
  }
  return ranges
}
