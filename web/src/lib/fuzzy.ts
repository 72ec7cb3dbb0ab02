/** A text that the letters were found in, and where. */
export interface Match<T> {
  item: T
  /** Higher is better; meaningful only beside others for the same letters. */
  score: number
  /** The places of the letters in the text, ascending. */
  places: number[]
}

const AT_WORD = 12
const IN_NAME = 6
const TOGETHER = 8
const SAME_CASE = 1
/** A gap costs a little, however long: the folder in between says nothing against a file. */
const GAP = 3

/**
 * The best of `items` whose text has all letters in their order, best first. Letters that begin a word, stand in the last
 * part of a path or follow each other count for more; among equals the shorter text wins. Spaces are left out, so that
 * `tab files` finds `FilesTab` no worse than `tabfiles` would, each word in turn.
 */
export function fuzzy<T>(items: readonly T[], letters: string, textOf: (item: T) => string, most = 50): Match<T>[] {
  const words = letters.split(/\s+/).filter(Boolean)
  if (words.length === 0) return items.slice(0, most).map((item) => ({ item, score: 0, places: [] }))
  const found: Match<T>[] = []
  for (const item of items) {
    const match = matchAll(textOf(item), words)
    if (match) found.push({ item, ...match })
  }
  return found
    .sort((one, other) => other.score - one.score || textOf(one.item).length - textOf(other.item).length)
    .slice(0, most)
}

function matchAll(text: string, words: string[]): { score: number; places: number[] } | null {
  let score = 0
  const places = new Set<number>()
  for (const word of words) {
    const one = match(text, word)
    if (!one) return null
    score += one.score
    for (const place of one.places) places.add(place)
  }
  return { score, places: [...places].sort((one, other) => one - other) }
}

/** One word's letters in a text, or null. Found from the end, where a path's name is; then as far to the left as it goes. */
export function match(text: string, word: string): { score: number; places: number[] } | null {
  const low = text.toLowerCase()
  const wanted = word.toLowerCase()
  const whole = low.lastIndexOf(wanted)
  if (whole >= 0) {
    const start = bestWhole(text, low, wanted)
    return scored(
      text,
      word,
      Array.from(wanted, (_, index) => start + index),
    )
  }
  const back = backwards(low, wanted)
  const front = forwards(text, low, wanted)
  if (!back || !front) return null
  const one = scored(text, word, back)
  const other = scored(text, word, front)
  return one.score >= other.score ? one : other
}

/** Where the word stands as a whole: at the beginning of a word if it does anywhere, the last such place. */
function bestWhole(text: string, low: string, wanted: string): number {
  let best = low.lastIndexOf(wanted)
  for (let at = best; at >= 0; at = at > 0 ? low.lastIndexOf(wanted, at - 1) : -1) {
    if (beginsWord(text, at)) return at
    best = Math.max(best, at)
  }
  return best
}

function backwards(low: string, wanted: string): number[] | null {
  const places: number[] = []
  let at = low.length
  for (let index = wanted.length - 1; index >= 0; index -= 1) {
    at = at > 0 ? low.lastIndexOf(wanted[index] ?? '', at - 1) : -1
    if (at < 0) return null
    places.unshift(at)
  }
  return places
}

/** From the left, each letter at the beginning of a word if the rest still fits behind it. */
function forwards(text: string, low: string, wanted: string): number[] | null {
  const last = backwards(low, wanted)
  if (!last) return null
  const places: number[] = []
  let from = 0
  for (let index = 0; index < wanted.length; index += 1) {
    const letter = wanted[index] ?? ''
    const limit = last[index] ?? 0
    let at = low.indexOf(letter, from)
    if (at !== from || index === 0)
      for (let next = at; next >= 0 && next <= limit; next = low.indexOf(letter, next + 1))
        if (beginsWord(text, next)) {
          at = next
          break
        }
    places.push(at)
    from = at + 1
  }
  return places
}

function beginsWord(text: string, at: number): boolean {
  if (at === 0) return true
  const before = text[at - 1] ?? ''
  const here = text[at] ?? ''
  if (/[^\p{L}\p{N}]/u.test(before)) return true
  return here !== here.toLowerCase() && before === before.toLowerCase()
}

function scored(text: string, word: string, places: number[]): { score: number; places: number[] } {
  const name = text.lastIndexOf('/') + 1
  let score = 0
  places.forEach((at, index) => {
    const before = places[index - 1]
    if (beginsWord(text, at)) score += AT_WORD
    if (at >= name) score += IN_NAME
    if (text[at] === word[index]) score += SAME_CASE
    if (before !== undefined) score += at === before + 1 ? TOGETHER : -GAP
  })
  if (text.length - name === places.length && places[0] === name) score += AT_WORD
  return { score, places }
}
