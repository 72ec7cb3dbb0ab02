/** A command line as a shell splits it: blanks part words, quotes keep them together. */
export function words(line: string): string[] {
  const found: string[] = []
  let word: string | null = null
  let quote = ''
  for (let at = 0; at < line.length; at++) {
    const sign = line[at]!
    if (quote) {
      if (sign === quote) quote = ''
      else if (sign === '\\' && quote === '"' && at + 1 < line.length) word += line[++at]!
      else word += sign
    } else if (sign === '"' || sign === "'") {
      quote = sign
      word ??= ''
    } else if (sign === '\\' && at + 1 < line.length) {
      word = (word ?? '') + line[++at]!
    } else if (/\s/.test(sign)) {
      if (word !== null) found.push(word)
      word = null
    } else {
      word = (word ?? '') + sign
    }
  }
  if (quote) throw new Error(`A ${quote} is not closed. Close it, or put a backslash before it.`)
  if (word !== null) found.push(word)
  return found
}

/** A command and its arguments as one would type them: `words` reads the same out of it. */
export function line({ command = '', args = [] }: { command?: string; args?: string[] }): string {
  return [command, ...args]
    .map((word) => (/^[\w@%+=:,./$-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`))
    .join(' ')
}

/** The other way round than `pairs`. */
export function lines(given: Record<string, string> | undefined, by: 'command' | 'url'): string {
  const sign = by === 'command' ? '=' : ': '
  return Object.entries(given ?? {})
    .map(([name, value]) => `${name}${sign}${value}`)
    .join('\n')
}

/** Lines of `NAME=value` or `Name: value`. */
export function pairs(text: string, sign: '=' | ':'): Record<string, string> {
  const found: Record<string, string> = {}
  for (const line of text.split('\n')) {
    if (!line.trim()) continue
    const at = line.indexOf(sign)
    if (at < 1) throw new Error(`“${line.trim()}” has no ${sign}. Write one name and its value per line.`)
    found[line.slice(0, at).trim()] = line.slice(at + 1).trim()
  }
  return found
}

const VARIABLE = /\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-[^}]*)?\}/g

/** Puts values in the place of `${NAME}`; what has none stays, for the daemon's environment to fill. */
export function filled(text: string, values: Record<string, string>): string {
  return text.replaceAll(VARIABLE, (whole, name: string) => values[name] || whole)
}

export function mentions(text: string, name: string): boolean {
  return [...text.matchAll(VARIABLE)].some((match) => match[1] === name)
}
