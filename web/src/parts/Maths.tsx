import katex from 'katex'
import 'katex/dist/katex.min.css'
import { memo, useLayoutEffect, useRef, useState } from 'react'

/** It draws and nothing else: no links, no pictures, no HTML, and no end of macros. */
const CAREFUL = {
  trust: false,
  strict: false as const,
  maxSize: 20,
  maxExpand: 200,
  throwOnError: true,
  errorColor: 'var(--oa-bad)',
}

/** Maths as it is printed; as it was written where it cannot be read. Loaded with the first formula. */
export default memo(function Maths({ tex, block = false }: { tex: string; block?: boolean }) {
  const box = useRef<HTMLElement>(null)
  const [broken, setBroken] = useState(false)
  useLayoutEffect(() => {
    try {
      katex.render(tex, box.current!, { ...CAREFUL, displayMode: block })
      setBroken(false)
    } catch {
      setBroken(true)
    }
  }, [tex, block])
  const drawn = <span ref={box} hidden={broken} />
  if (block)
    return (
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
      <div className="md-maths" tabIndex={0}>
        {drawn}
        {broken && <code>{tex}</code>}
      </div>
    )
  return (
    <>
      {drawn}
      {broken && <code>{tex}</code>}
    </>
  )
})
