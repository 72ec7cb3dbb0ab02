import type { Definition, FootnoteDefinition, RootContent } from 'mdast'
import { fromMarkdown } from 'mdast-util-from-markdown'
import { gfmFromMarkdown } from 'mdast-util-gfm'
import { gfm } from 'micromark-extension-gfm'
import remend from 'remend'

/** A paragraph, list, table or the like, and where it begins in the text. */
export interface Block {
  node: RootContent
  start: number
}

export interface Parsed {
  text: string
  blocks: Block[]
}

const READING = { extensions: [gfm()], mdastExtensions: [gfmFromMarkdown()] }

/** What is added to a text can still change its last block, and what a link's definition before it says. */
const UNSETTLED = 2

export const NOTHING: Parsed = { text: '', blocks: [] }

/** What the text is made of. All of it is read. */
export function parse(text: string): Parsed {
  return { text, blocks: read(text, 0) }
}

/**
 * What a text is made of that is still being written: its end is read as if what is open were closed, and its beginning
 * is taken from what was read `before`, the very same nodes, so that they need not be drawn anew.
 */
export function parseGrowing(text: string, before: Parsed): Parsed {
  const settled = before.blocks.slice(0, -UNSETTLED)
  const from = settled.length > 0 ? before.blocks[settled.length]!.start : 0
  const kept = from > 0 && text.startsWith(before.text.slice(0, from)) ? settled : []
  const begin = kept.length > 0 ? from : 0
  return { text, blocks: [...kept, ...read(remend(text.slice(begin)), begin)] }
}

function read(text: string, begin: number): Block[] {
  return fromMarkdown(text, READING).children.map((node) => ({
    node,
    start: begin + (node.position?.start.offset ?? 0),
  }))
}

export interface Meanings {
  links: Map<string, Definition>
  notes: FootnoteDefinition[]
}

const NONE: Meanings = { links: new Map(), notes: [] }

/** What links and notes are named for, wherever in the text it stands. */
export function meaningsIn(blocks: Block[]): Meanings {
  const links = new Map<string, Definition>()
  const notes: FootnoteDefinition[] = []
  for (const { node } of blocks) {
    // The first of a name counts.
    if (node.type === 'definition' && !links.has(node.identifier)) links.set(node.identifier, node)
    if (node.type === 'footnoteDefinition') notes.push(node)
  }
  return links.size + notes.length > 0 ? { links, notes } : NONE
}
