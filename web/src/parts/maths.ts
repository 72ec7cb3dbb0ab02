/** Stands before maths in the place of inline code: a sign that nobody types. */
export const MATHS = '\uE000'

/**
 * Code, to be left as it is; then the ways to write maths: `$$…$$`, `\[…\]`, `\(…\)`, and `$…$` as Pandoc reads it.
 * None is looked for without end: a text that never closes what it opens is read in one go.
 */
const CODE_OR_MATHS =
  /^ {0,3}(`{3,}|~{3,})[^\n]*\n[\s\S]*?(?:^ {0,3}\1[^\n]*$|$(?![\s\S]))|(`+)[^`](?:[\s\S]{0,2000}?[^`])?\2(?!`)|\$\$([\s\S]{1,2000}?)\$\$|\\\[([\s\S]{1,2000}?)\\\]|\\\(([^\n]{1,500}?)\\\)|(?<![\\$\w])\$(?![\s$])([^$\n]{0,300}?[^\s\\$])\$(?![\d$])/gm

/** What makes a text between two dollar signs maths and not two prices. */
const TELLS = /[\\^_{}=<>+*/|]|^[a-zA-Z]'?$/

/** The same Markdown with maths as code: a block of the language `math`, or inline code with a mark before it. */
export function withMaths(text: string): string {
  if (!text.includes('$') && !text.includes('\\(') && !text.includes('\\[')) return text
  return text.replace(
    CODE_OR_MATHS,
    (whole, _fence, _ticks, dollars?: string, brackets?: string, round?: string, single?: string, ...rest) => {
      const block = dollars ?? brackets
      const inline = round ?? (single !== undefined && TELLS.test(single) ? single : undefined)
      if (inline !== undefined) return asInline(inline)
      if (block === undefined) return whole
      const [at, all] = rest.slice(-2) as [number, string]
      return standsAlone(all, at, whole.length) ? asBlock(block) : asInline(block)
    },
  )
}

function standsAlone(all: string, at: number, length: number): boolean {
  const before = all.slice(all.lastIndexOf('\n', at - 1) + 1, at)
  const rest = all.indexOf('\n', at + length)
  const after = all.slice(at + length, rest < 0 ? undefined : rest)
  return before.trim() === '' && after.trim() === ''
}

function asBlock(tex: string): string {
  const fence = '`'.repeat(Math.max(3, longestTicks(tex) + 1))
  return `\n${fence}math\n${tex.trim()}\n${fence}\n`
}

function asInline(tex: string): string {
  const ticks = '`'.repeat(longestTicks(tex) + 1)
  return `${ticks}${MATHS}${tex.trim().replace(/\s+/g, ' ')}${tex.trimEnd().endsWith('`') ? ' ' : ''}${ticks}`
}

function longestTicks(tex: string): number {
  return Math.max(0, ...[...tex.matchAll(/`+/g)].map(([ticks]) => ticks.length))
}
