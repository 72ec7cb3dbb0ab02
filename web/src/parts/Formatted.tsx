import { memo, useMemo, useRef } from 'react'
import { meaningsIn, NOTHING, type Parsed, parse, parseGrowing } from './markdown/blocks'
import { AboutText, BlockOf, Notes } from './markdown/Drawn'
import { withMaths } from './maths'

/** Formats what a model wrote; `Markdown` shows it plain until this has come. */
export default function Formatted({ text, live }: { text: string; live: boolean }) {
  const { blocks } = useParsed(withMaths(text), live)
  const meanings = useMemo(() => meaningsIn(blocks), [blocks])
  const about = useMemo(() => ({ meanings, live }), [meanings, live])
  return (
    <AboutText value={about}>
      <div className="md">
        {blocks.map(({ node }, index) => (
          <Unchanged key={index} node={node} />
        ))}
        <Notes />
      </div>
    </AboutText>
  )
}

/** Of a text that grows, only its end is read and drawn anew. */
const Unchanged = memo(BlockOf)

function useParsed(text: string, live: boolean): Parsed {
  const last = useRef(NOTHING)
  return useMemo(() => {
    const parsed = live ? parseGrowing(text, last.current) : parse(text)
    last.current = parsed
    return parsed
  }, [text, live])
}
