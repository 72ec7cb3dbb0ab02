/** Words that were typed and not sent, by session: they outlive a reload and a change of session. */

const PREFIX = 'openagent.draft.'
const MOST = 60
const LONGEST = 50_000

interface Draft {
  text: string
  at: number
}

export function draftOf(session: string): string {
  return read(PREFIX + session)?.text ?? ''
}

export function keepDraft(session: string, text: string): void {
  const key = PREFIX + session
  try {
    if (!text.trim()) {
      localStorage.removeItem(key)
      return
    }
    const isNew = localStorage.getItem(key) === null
    localStorage.setItem(key, JSON.stringify({ text: text.slice(0, LONGEST), at: Date.now() }))
    if (isNew) letGoOfTheOldest()
  } catch {
    // A full or forbidden storage: the draft lives as long as the page.
  }
}

function letGoOfTheOldest(): void {
  const keys = Array.from({ length: localStorage.length }, (_, index) => localStorage.key(index) ?? '')
  const drafts = keys.filter((key) => key.startsWith(PREFIX)).map((key) => ({ key, at: read(key)?.at ?? 0 }))
  drafts.sort((one, other) => other.at - one.at)
  for (const { key } of drafts.slice(MOST)) localStorage.removeItem(key)
}

function read(key: string): Draft | null {
  try {
    return JSON.parse(localStorage.getItem(key) ?? 'null') as Draft | null
  } catch {
    return null
  }
}
