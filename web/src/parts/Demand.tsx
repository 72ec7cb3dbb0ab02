import { type ComponentType, type ReactElement, Suspense, useEffect, useRef, useState } from 'react'
import { useFocusBack } from '@/lib/focus-back'
import { later } from '@/lib/later'

export interface TriggerProps {
  onClick: () => void
  onPointerEnter?: () => void
  onFocus?: () => void
}

/**
 * Something that opens, loaded when a person comes near. Until it is pressed there is only its button; then the loaded
 * one takes its place, open.
 */
export function onDemand<P extends object>(
  load: () => Promise<{ default: ComponentType<P> }>,
  Trigger: (props: P & TriggerProps) => ReactElement,
): ComponentType<P> {
  const Loaded = later(load)
  return function Demand(props: P) {
    const [wanted, setWanted] = useState(false)
    const near = () => void load().catch(() => {})
    const waiting = <Trigger {...props} onClick={() => setWanted(true)} onPointerEnter={near} onFocus={near} />
    if (!wanted) return waiting
    return (
      <Suspense fallback={waiting}>
        <Loaded {...props} />
      </Suspense>
    )
  }
}

/**
 * For what takes its button's place, open: its own button has the focus before it opens, as the one that was pressed had,
 * and gets it back when it closes.
 */
export function useOpenAtOnce() {
  const [opened, setOpened] = useState(false)
  const button = useRef<HTMLButtonElement>(null)
  useEffect(() => {
    button.current?.focus({ preventScroll: true })
    setOpened(true)
  }, [])
  useFocusBack(opened)
  return { opened, setOpened, button }
}
