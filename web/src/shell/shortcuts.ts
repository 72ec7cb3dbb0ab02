import { useEffect } from 'react'
import { create } from 'zustand'

export interface Shortcut {
  /** As it is shown: `g s`, `⌘K`, `a`. */
  keys: string
  what: string
  where: string
}

/** The keys that do something right now; the help shows them. */
export const useShortcuts = create<{ known: Shortcut[]; helpOpen: boolean }>(() => ({ known: [], helpOpen: false }))

export interface Binding {
  /** One key, two after each other (`g s`), or with a modifier (`mod+k`). */
  keys: string
  what: string
  run: () => void
  /** Also while typing. */
  always?: boolean
}

const SEQUENCE_WAIT = 900
let pending = ''
let pendingAt = 0
const layers: { where: string; bindings: Binding[]; above: boolean }[] = []

/** These keys work while the component is there. The newest comes first. */
export function useKeys(where: string, bindings: Binding[]): void {
  useLayer(where, bindings, false)
}

/** These come before those of the page around them, however often either is drawn again. */
export function useKeysAbove(where: string, bindings: Binding[]): void {
  useLayer(where, bindings, true)
}

function useLayer(where: string, bindings: Binding[], above: boolean): void {
  useEffect(() => {
    const layer = { where, bindings, above }
    layers.splice(above ? 0 : layers.filter((one) => one.above).length, 0, layer)
    renew()
    return () => {
      layers.splice(layers.indexOf(layer), 1)
      renew()
    }
  })
}

export const isMac = /Mac|iPhone|iPad/.test(navigator.userAgent)

export function shown(keys: string): string {
  return keys.replace('mod+', isMac ? '⌘' : 'Ctrl ').replace('escape', 'Esc')
}

let renewing = false
function renew(): void {
  if (renewing) return
  renewing = true
  queueMicrotask(() => {
    renewing = false
    const seen = new Set<string>()
    const known = layers.flatMap(({ where, bindings }) =>
      bindings.filter(({ keys }) => !seen.has(keys) && seen.add(keys)).map(({ keys, what }) => ({ keys, what, where })),
    )
    const before = useShortcuts.getState().known
    if (JSON.stringify(before) !== JSON.stringify(known)) useShortcuts.setState({ known })
  })
}

/** Whether the next key is the second of two (`g s`): then it is nobody else's. */
export function inSequence(): boolean {
  return pending !== '' && performance.now() - pendingAt < SEQUENCE_WAIT
}

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false
  return (
    target.isContentEditable ||
    target.closest('input, textarea, select, .xterm, .monaco-editor, [data-takes-keys]') !== null
  )
}

function pressed(event: KeyboardEvent): string {
  const key = event.key.length === 1 ? event.key : event.key.toLowerCase()
  if (event.ctrlKey || event.metaKey) return `mod+${key.toLowerCase()}`
  return key
}

const aDialogIsOpen = () =>
  document.querySelector('[role="dialog"][aria-modal="true"], .mantine-Spotlight-content') !== null

export function listenToKeys(): () => void {
  let inDialog = false
  // Before anybody hears the key: a dialog that Esc closes may be gone when it is our turn, and was meant all the same.
  const beforeAll = () => {
    inDialog = aDialogIsOpen()
  }
  const onKey = (event: KeyboardEvent) => {
    if (event.defaultPrevented || event.altKey || event.isComposing) return
    const typing = isTyping(event.target)
    const now = performance.now()
    const key = pressed(event)
    const sequence = pending && now - pendingAt < SEQUENCE_WAIT ? `${pending} ${key}` : ''
    pending = ''
    for (const { bindings } of layers) {
      const found =
        bindings.find((one) => one.keys === sequence) ?? bindings.find((one) => one.keys === key && !sequence)
      if (!found || ((typing || inDialog) && !found.always)) continue
      event.preventDefault()
      found.run()
      return
    }
    if (!typing && !inDialog && layers.some(({ bindings }) => bindings.some((one) => one.keys.startsWith(`${key} `)))) {
      pending = key
      pendingAt = now
    }
  }
  addEventListener('keydown', beforeAll, true)
  addEventListener('keydown', onKey)
  return () => {
    removeEventListener('keydown', beforeAll, true)
    removeEventListener('keydown', onKey)
  }
}
