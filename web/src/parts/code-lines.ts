import './highlighted.css'
import { awaited, lowlight } from './lowlight'

export interface Piece {
  text: string
  /** The highlighter's class; empty for plain text. */
  kind: string
}

interface Node {
  type: string
  value?: string
  properties?: { className?: unknown }
  children?: Node[]
}

/** Code as lines of coloured pieces; null where the language is not known. */
export async function colouredLines(code: string, language: string): Promise<Piece[][] | null> {
  await awaited(language)
  if (!lowlight.registered(language)) return null
  const lines: Piece[][] = [[]]
  const walk = (node: Node, kind: string) => {
    if (node.type === 'text') {
      for (const [place, text] of (node.value ?? '').split('\n').entries()) {
        if (place > 0) lines.push([])
        if (text) lines.at(-1)?.push({ text, kind })
      }
      return
    }
    const own = node.properties?.className
    const next = Array.isArray(own) ? own.join(' ') : kind
    for (const child of node.children ?? []) walk(child, next)
  }
  walk(lowlight.highlight(language, code) as Node, '')
  return lines
}
