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
    // A button that is busy for a moment cannot have the focus, but gets it back.
    const busy = target instanceof HTMLButtonElement && target.disabled
    if (target === onPage && !relatedTarget && !busy) onPage = null
  }
  addEventListener('focusin', came)
  addEventListener('focusout', went)
  return () => {
    removeEventListener('focusin', came)
    removeEventListener('focusout', went)
  }
}

/**
 * For what opens over the page: what had the focus before gets it back when it closes. Mantine gives it back
 * to what had it at that moment, which may be an item of a menu that is gone, and a focus that is lost begins the page
 * again at its top.
 */
export function useFocusBack(opened = true): void {
  useEffect(() => {
    if (!opened) return
    const { activeElement: from } = document
    // From a dialog that stays below this one, or from the page.
    const before = from instanceof HTMLElement && from.closest('[role="dialog"]') ? from : onPage
    return () => {
      const { activeElement: at } = document
      if (before && (!at || at === document.body || at.closest(OVER))) giveFocus(before)
    }
  }, [opened])
}

function giveFocus(before: HTMLElement): void {
  before.focus({ preventScroll: true })
  // It may be gone, or hidden, by what was just done.
  if (document.activeElement !== before) document.getElementById('main')?.focus({ preventScroll: true })
}
