/** A place in a file, as people and programs write it: `src/a.py:12`. */
export interface PathPlace {
  path: string
  line?: number
}

export type Piece = string | (PathPlace & { text: string })

const NAME = String.raw`[\p{L}\p{N}_@+.~-]+`
const LINE = String.raw`(?::(\d+)(?::\d+|-\d+)?|#L(\d+)(?:-L?\d+)?)`
const KNOWN =
  'astro|bash|c|cc|cfg|clj|conf|cpp|cs|css|csv|dart|ex|exs|go|gradle|graphql|h|hpp|hs|html|ini|java|jl|js|json|jsonl|jsx|kt|lock|log|lua|md|mdx|mjs|ml|nix|php|pl|png|jpg|jpeg|gif|webp|svg|proto|ps1|py|pyi|r|rb|rs|rst|sass|scala|scss|sh|sql|svelte|swift|tex|tf|toml|ts|tsx|txt|vue|xml|yaml|yml|zig'

/** With a folder and an ending; with a known ending and a line; a name of its own (`Makefile:3`) only with a line. */
const PATH = new RegExp(
  [
    String.raw`(?<![\p{L}\p{N}_/:.@~-])`,
    '(?:',
    String.raw`File "(?<quoted>[^"\n]+)", line (?<quotedLine>\d+)`,
    String.raw`|(?<path>(?:\.{0,2}/)?(?:${NAME}/)+${NAME}\.(?:${KNOWN})\b)(?<at>${LINE})?`,
    String.raw`|(?<bare>${NAME}\.(?:${KNOWN})|Makefile|Dockerfile)(?<bareAt>${LINE})`,
    ')',
    String.raw`(?![\p{L}\p{N}_/])`,
  ].join(''),
  'giu',
)
/** Longer texts are data: nobody clicks in them, and looking takes time. */
const LONGEST = 60_000

/** A text with the paths in it set apart. */
export function pieces(text: string): Piece[] {
  if (text.length > LONGEST || !/[./]/.test(text)) return [text]
  const found: Piece[] = []
  let end = 0
  for (const match of text.matchAll(PATH)) {
    const place = placeIn(match.groups ?? {})
    if (isAddress(text, match.index)) continue
    if (match.index > end) found.push(text.slice(end, match.index))
    found.push({ ...place, text: match[0] })
    end = match.index + match[0].length
  }
  if (end < text.length) found.push(text.slice(end))
  return found
}

/** A text that is a path and nothing else: in code, a known ending is enough. */
export function wholePath(text: string): PathPlace | null {
  const [only, ...more] = pieces(text)
  if (more.length === 0 && only !== undefined && typeof only !== 'string') return only
  return new RegExp(`^${NAME}\\.(?:${KNOWN})$`, 'iu').test(text) ? { path: text } : null
}

/** Where a link in a message leads when that is a file of the workspace: `src/a.py#L12`, `./a.py`. */
export function linkedPath(address: string): PathPlace | null {
  let plain = address
  try {
    plain = decodeURI(address)
  } catch {
    // Not everything with a per cent sign is an address.
  }
  if (/^[a-z][a-z0-9+.-]*:(?!\d+$)|^\/\/|^#|^\?/i.test(plain) || /[\n"<>\\]/.test(plain)) return null
  const told = new RegExp(`^(.+?)${LINE}?$`, 'u').exec(plain)
  const path = told?.[1] ?? ''
  const line = Number(told?.[2] ?? told?.[3]) || undefined
  return path ? { path, line } : null
}

function placeIn(groups: Record<string, string | undefined>): PathPlace {
  const path = groups.quoted ?? groups.path ?? groups.bare ?? ''
  const told = groups.quotedLine ?? /\d+/.exec(groups.at ?? groups.bareAt ?? '')?.[0]
  return { path, line: told ? Number(told) : undefined }
}

/** Part of `https://host/a.js`: a link to elsewhere. */
function isAddress(text: string, at: number): boolean {
  return /[a-z][a-z0-9+.-]*:\/\/\S*$/i.test(text.slice(Math.max(0, at - 200), at))
}
