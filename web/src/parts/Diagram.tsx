import { Button, useComputedColorScheme } from '@mantine/core'
import { memo, useEffect, useState } from 'react'
import { CodeBlock } from './CodeBlock'
import { draw } from './diagrams'

/**
 * A Mermaid diagram as a picture: nothing in it can run or load. Its text is one click away, and stands there when it
 * cannot be drawn.
 */
export default memo(function Diagram({ code }: { code: string }) {
  return <Drawing key={useComputedColorScheme('dark')} code={code} />
})

function Drawing({ code }: { code: string }) {
  const [drawn, setDrawn] = useState<{ src: string } | { problem: string } | null>(null)
  const [asText, setAsText] = useState(false)
  useEffect(() => {
    let wanted = true
    draw(code).then(
      (src) => wanted && setDrawn({ src }),
      (problem: Error) => wanted && setDrawn({ problem: problem.message }),
    )
    return () => {
      wanted = false
    }
  }, [code])
  if (!drawn) return <CodeBlock code={code} language="mermaid" note="mermaid · being drawn …" />
  if ('problem' in drawn)
    return <CodeBlock code={code} language="mermaid" note={`mermaid · not drawn: ${drawn.problem}`} />
  const swap = (
    <Button size="compact-xs" variant="subtle" color="gray" onClick={() => setAsText(!asText)}>
      {asText ? 'Picture' : 'Text'}
    </Button>
  )
  if (asText) return <CodeBlock code={code} language="mermaid" actions={swap} />
  return (
    <div className="code-block">
      <div className="code-head">
        <span>mermaid</span>
        {swap}
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
      <div className="md-drawing" tabIndex={0}>
        <img src={drawn.src} alt={`Diagram. ${code.slice(0, 500)}`} />
      </div>
    </div>
  )
}
