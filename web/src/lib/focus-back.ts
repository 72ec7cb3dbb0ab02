import { useEffect } from 'react'

/** What lies over the page: dialogs, menus, the palette. */
const OVER = '[data-portal]'

/** What on the page itself had the focus last; nothing while it had none. */
let onPage: HTMLElement | null = null

export function listenToFocus(): () => void {
  const came = ({ target }: FocusEvent) => {
    if (target instanceof HTMLElement && !target.closest(OVER)) onPage = target
  }
  const went = ({ target, relatedTarget }: FocusEvent) => {
    if (target === onPage && !relatedTarget) onPage = null
  }
  addEventListener('focusin', came)
  addEventListener('focusout', went)
  return () => {
    removeEventListener('focusin', came)
    removeEventListener('focusout', went)
  }
}

/**
 * For what is on the page only while it is open: what had the focus before gets it back. Mantine gives it back when
 * `opened` changes, which nobody lives to see here, and a focus that is lost begins the page again at its top.
 */
export function useFocusBack(): void {
  useEffect(() => {
    const before = onPage
    return () => {
      if (before && document.activeElement === document.body) giveFocus(before)
    }
  }, [])
}

function giveFocus(before: HTMLElement): void {
  before.focus({ preventScroll: true })
  // It may be gone, or hidden, by what was just done.
  if (document.activeElement === document.body) document.getElementById('main')?.focus({ preventScroll: true })
}
