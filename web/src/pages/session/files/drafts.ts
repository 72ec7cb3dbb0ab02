import { create } from 'zustand'

/** An edit that is not saved. */
export interface Draft {
  text: string
  /** The version of the file that it began with; empty: there was no file. */
  version: string
  /** When it was last typed in, in milliseconds. */
  at: number
}

const PREFIX = 'openagent.draft.'
/** Keys come faster than a disk needs to hear of them. What is not written yet is written when the page goes away. */
const WRITE_AFTER = 250

/** Unsaved edits by session and path. They outlive the file's being open, the page and the daemon. */
export const useDrafts = create<{ drafts: Record<string, Draft>; tooLarge: boolean }>(() => ({
  drafts: stored(),
  tooLarge: false,
}))

const waiting = new Set<string>()
let timer: ReturnType<typeof setTimeout> | undefined

export function keyOf(session: string, path: string): string {
  return `${session}/${path}`
}

export function draftOf(session: string, path: string): Draft | null {
  return useDrafts.getState().drafts[keyOf(session, path)] ?? null
}

export function setDraft(session: string, path: string, draft: Draft | null): void {
  const key = keyOf(session, path)
  useDrafts.setState(({ drafts }) => {
    const { [key]: _, ...others } = drafts
    return { drafts: draft ? { ...others, [key]: draft } : others }
  })
  waiting.add(key)
  timer ??= setTimeout(writeDrafts, WRITE_AFTER)
}

/** The paths with unsaved edits in a session, in order. */
export function unsavedIn(drafts: Record<string, Draft>, session: string): string[] {
  return Object.keys(drafts)
    .filter((key) => key.startsWith(`${session}/`))
    .map((key) => key.slice(session.length + 1))
    .sort()
}

export function writeDrafts(): void {
  clearTimeout(timer)
  timer = undefined
  const { drafts } = useDrafts.getState()
  for (const key of waiting) {
    const draft = drafts[key]
    try {
      if (draft) localStorage.setItem(PREFIX + key, JSON.stringify(draft))
      else localStorage.removeItem(PREFIX + key)
      waiting.delete(key)
    } catch {
      // It stays among what waits, and the person is told that it lives in this page alone.
    }
  }
  useDrafts.setState({ tooLarge: waiting.size > 0 })
}

function stored(): Record<string, Draft> {
  const found: Record<string, Draft> = {}
  try {
    for (let index = 0; index < localStorage.length; index += 1) {
      const key = localStorage.key(index)
      if (!key?.startsWith(PREFIX)) continue
      const draft = JSON.parse(localStorage.getItem(key) ?? 'null') as Draft | null
      if (typeof draft?.text === 'string' && typeof draft.version === 'string') found[key.slice(PREFIX.length)] = draft
    }
  } catch {
    // Nothing was kept, or not by this app.
  }
  return found
}

/** What another window of this browser did to an edit that this one has not touched. */
function hear(event: StorageEvent): void {
  if (!event.key?.startsWith(PREFIX)) return
  const key = event.key.slice(PREFIX.length)
  if (waiting.has(key) || touched.has(key)) return
  useDrafts.setState({ drafts: { ...stored() } })
}

const touched = new Set<string>()
/** From now on this window's edit is its own. */
export function touch(session: string, path: string): void {
  touched.add(keyOf(session, path))
}

if (typeof window !== 'undefined') {
  addEventListener('pagehide', writeDrafts)
  addEventListener('visibilitychange', () => document.visibilityState === 'hidden' && writeDrafts())
  addEventListener('storage', hear)
}
