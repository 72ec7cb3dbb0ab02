import type { ReactNode } from 'react'
import './tip.css'

/** A word about what is under the pointer. Made of style alone: what it says must also be in the thing's own label. */
export function Tip({
  label,
  side = 'bottom',
  children,
}: {
  label: string
  /** `end`: below, from its right edge to the left, for what stands at the edge of something that scrolls. */
  side?: 'bottom' | 'right' | 'top' | 'end'
  children: ReactNode
}) {
  return (
    <span className="tip" data-tip={label} data-side={side}>
      {children}
    </span>
  )
}
