import { type KeyboardEvent, type RefObject, useEffect, useRef } from 'react'
import { type Binding, inSequence } from '@/shell/shortcuts'

/** A key pressed in the moment something appears was meant for something else. */
const SETTLING = 400

/** Where the keys of a question count: on the whole page, or only while it has the focus itself, beside others. */
export type KeysCount = 'page' | 'own'

export function useSettled() {
  const appeared = useRef(performance.now())
  return (run: () => void) => () => {
    if (performance.now() - appeared.current > SETTLING) run()
  }
}

/** It takes the focus as it appears, unless the person is writing something. */
export function useAttention(box: RefObject<HTMLElement | null>, keys: KeysCount) {
  useEffect(() => {
    if (keys !== 'page') return
    const typing = document.activeElement
    const idle = typing === document.body || (typing instanceof HTMLTextAreaElement && typing.value === '')
    if (idle) box.current?.focus()
  }, [box, keys])
}

/** For who has the focus inside: also in the whole view, where the page's keys rest. There Esc leads back. */
export function ownKeys(bindings: Binding[]) {
  return (event: KeyboardEvent) => {
    const target = event.target as HTMLElement
    // `g s` leads away; its second key answers nothing.
    if (inSequence() || event.altKey || event.ctrlKey || event.metaKey || target.closest('input, textarea')) return
    const key = event.key.length === 1 ? event.key : event.key.toLowerCase()
    if (key === 'escape' && target.closest('[role="dialog"]')) return
    const found = bindings.find((one) => one.keys === key)
    if (!found) return
    event.preventDefault()
    found.run()
  }
}
