import { type RefObject, useRef } from 'react'
import { useKeys } from '@/shell/shortcuts'

const NOW = '.diff-added, .diff-added-cell'
const BEFORE = '.diff-removed, .diff-removed-cell'
const ASK = '.review-ask-button'

/** Walks the hunks, and does with the one that has the focus what its buttons do. */
export function useHunkKeys(files: RefObject<HTMLElement | null>): void {
  const last = useRef(-1)
  const all = () => [...(files.current?.querySelectorAll<HTMLElement>('tr.diff-hunk') ?? [])]
  const here = () => {
    const focused = document.activeElement?.closest('tbody')
    return all().findIndex((hunk) => focused?.contains(hunk))
  }
  const step = (by: number) => {
    const hunks = all()
    // One that was taken back is gone, and the focus with it: the next has its place.
    const from = here() >= 0 ? here() : by > 0 ? last.current - 1 : last.current
    last.current = Math.max(0, Math.min(hunks.length - 1, from + by))
    hunks[last.current]?.scrollIntoView({ block: 'center' })
    hunks[last.current]?.focus({ preventScroll: true })
  }
  const press = (button: string): boolean => {
    const found = all()[here()]?.closest('tbody')?.querySelector<HTMLElement>(button)
    found?.click()
    return found !== undefined && found !== null
  }
  // What is there now before what was there: mostly that is meant.
  const comment = () => press(`:is(${NOW}) ${ASK}`) || press(`:is(${BEFORE}) ${ASK}`)
  useKeys('Review', [
    { keys: 'J', what: 'Next hunk', run: () => step(1) },
    { keys: 'K', what: 'Previous hunk', run: () => step(-1) },
    { keys: 'y', what: 'Keep the hunk', run: () => void press('[data-does="keep"]') },
    { keys: 'r', what: 'Revert the hunk', run: () => void press('[data-does="revert"]') },
    { keys: 'c', what: 'Comment on its first change', run: () => void comment() },
  ])
}
