import { memo, type ReactNode, use } from 'react'
import './highlighted.css'
import { awaited, lowlight } from './lowlight'

type Tree = ReturnType<typeof lowlight.highlight>

/** Code with its words coloured by what they are. Loaded when the first code block is shown. */
export default memo(function Highlighted({ code, language }: { code: string; language: string }) {
  const still = awaited(language)
  if (still) use(still)
  if (!lowlight.registered(language)) return code
  return lowlight.highlight(language, code).children.map(coloured)
})

/** The highlighter makes nothing but text and spans with a class. */
function coloured(node: Tree['children'][number], index: number): ReactNode {
  if (node.type === 'text') return node.value
  if (node.type !== 'element') return null
  const kinds = node.properties.className
  return (
    <span key={index} className={Array.isArray(kinds) ? kinds.join(' ') : undefined}>
      {node.children.map(coloured)}
    </span>
  )
}
