import { describe, expect, it } from 'vitest'
import { meaningsIn, NOTHING, parse, parseGrowing } from './blocks'

const TEXT = `# A title

Some **bold** words, and \`code\`.

- one
- two

  still two

1. first

| a | b |
|---|---|
| 1 | 2 |

\`\`\`python
print("x")
\`\`\`

See [there][a] and a note[^1].

[a]: https://example.org
[^1]: The note.
`

const kinds = (text: string) => parse(text).blocks.map(({ node }) => node.type)

describe('a text that grows', () => {
  it('is at its end what it is when read at once, wherever it was cut', () => {
    for (const step of [1, 3, 17]) {
      let parsed = NOTHING
      for (let end = step; end < TEXT.length + step; end += step) parsed = parseGrowing(TEXT.slice(0, end), parsed)
      expect(parsed.blocks.map(({ node }) => node.type)).toEqual(kinds(TEXT))
      expect(parsed.blocks.map(({ start }) => start)).toEqual(parse(TEXT).blocks.map(({ start }) => start))
    }
  })

  it('keeps the very nodes of its beginning, which need not be drawn anew', () => {
    const before = parseGrowing('one\n\ntwo\n\nthree\n\nfour', NOTHING)
    const after = parseGrowing('one\n\ntwo\n\nthree\n\nfour and more', before)
    expect(after.blocks.slice(0, 2).map(({ node }) => node)).toEqual(before.blocks.slice(0, 2).map(({ node }) => node))
    expect(after.blocks[0]!.node).toBe(before.blocks[0]!.node)
    expect(after.blocks[3]!.node).not.toBe(before.blocks[3]!.node)
  })

  it('is read anew when it is another text', () => {
    const before = parseGrowing('one\n\ntwo\n\nthree\n\nfour', NOTHING)
    const other = parseGrowing('# ane\n\ntwo\n\nthree\n\nfour', before)
    expect(other.blocks[0]!.node.type).toBe('heading')
  })

  it('shows what is not closed yet as if it were', () => {
    const { blocks } = parseGrowing('Some **bold', NOTHING)
    expect(JSON.stringify(blocks[0]!.node)).toContain('"strong"')
  })
})

it('knows what links and notes are named for', () => {
  const { links, notes } = meaningsIn(parse(TEXT).blocks)
  expect(links.get('a')?.url).toBe('https://example.org')
  expect(notes.map(({ identifier }) => identifier)).toEqual(['1'])
})
