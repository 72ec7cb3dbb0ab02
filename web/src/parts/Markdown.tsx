import { memo, Suspense } from 'react'
import { later } from '@/lib/later'
import './markdown.css'

export { CodeBlock, CopyButton } from './CodeBlock'

/** Longer texts are shown as they are: a text of this size is data, not prose. */
const LONGEST_FORMATTED = 200_000

// Asked for at once, but nothing waits for it: words can be read before they are formatted.
const load = () => import('./Formatted')
const Formatted = later(load)
void load().catch(() => {})

/**
 * What a model wrote. HTML in it is shown as the text it is, links lead only to the web, pictures come only with the
 * message itself: nothing in it can run, load or leave.
 */
export const Markdown = memo(function Markdown({ text, live = false }: { text: string; live?: boolean }) {
  if (text.length > LONGEST_FORMATTED) return <pre className="md-plain">{text}</pre>
  return (
    <Suspense fallback={<div className="md md-unformatted">{text}</div>}>
      <Formatted text={text} live={live} />
    </Suspense>
  )
})
