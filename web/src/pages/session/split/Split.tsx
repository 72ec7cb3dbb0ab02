import { type KeyboardEvent, type PointerEvent, type ReactNode, useRef } from 'react'
import { clamped, keep, LEAST_SHARE, MOST_SHARE, useShare } from './kept'
import './split.css'

const STEP = 0.05

/** Two things beside each other, with a border between them that is moved by hand or with the arrow keys. */
export function Split({ session, left, right }: { session: string; left: ReactNode; right: ReactNode }) {
  const box = useRef<HTMLDivElement>(null)
  const share = useShare(session)
  const set = (next: number) => keep(session, { share: clamped(next) })

  const drag = (event: PointerEvent<HTMLDivElement>) => {
    if (!event.currentTarget.hasPointerCapture(event.pointerId) || !box.current) return
    const { left: from, width } = box.current.getBoundingClientRect()
    set((event.clientX - from) / width)
  }
  const press = (event: KeyboardEvent) => {
    const to = { ArrowLeft: share - STEP, ArrowRight: share + STEP, Home: LEAST_SHARE, End: MOST_SHARE }[event.key]
    if (to === undefined) return
    event.preventDefault()
    set(to)
  }
  return (
    <div className="split" ref={box}>
      <div className="split-side" style={{ flexGrow: share }}>
        {left}
      </div>
      {/* biome-ignore lint/a11y/useSemanticElements: a border that is moved is no ruler between paragraphs */}
      <div
        className="split-border"
        role="separator"
        aria-orientation="vertical"
        aria-label="Width of the conversation"
        aria-valuenow={Math.round(share * 100)}
        aria-valuemin={LEAST_SHARE * 100}
        aria-valuemax={MOST_SHARE * 100}
        tabIndex={0}
        onKeyDown={press}
        onPointerDown={(event) => event.currentTarget.setPointerCapture(event.pointerId)}
        onPointerMove={drag}
        onDoubleClick={() => set(0.45)}
      />
      <div className="split-side" style={{ flexGrow: 1 - share }}>
        {right}
      </div>
    </div>
  )
}
