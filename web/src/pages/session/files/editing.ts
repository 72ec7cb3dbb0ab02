import type { Draft } from './drafts'

/** A file as it stands in the workspace. `gone`: there is none of that name. */
export interface Standing {
  text: string
  version: string
  gone: boolean
}

/**
 * - `same`: nothing of one's own.
 * - `edited`: an edit of what stands there.
 * - `conflict`: an edit of something that somebody has changed meanwhile.
 */
export type Editing = 'same' | 'edited' | 'conflict'

export function editingOf(standing: Standing, draft: Draft | null): Editing {
  if (!draft || (draft.text === standing.text && !standing.gone)) return 'same'
  return draft.version === standing.version ? 'edited' : 'conflict'
}

/** What is kept after typing: nothing, when the text is what stands there. */
export function typed(standing: Standing, before: Draft | null, text: string, at: number): Draft | null {
  const version = before?.version ?? standing.version
  if (text === standing.text && version === standing.version && !standing.gone) return null
  return { text, version, at }
}

/** What is kept after a text was saved: what was typed while it was on its way. */
export function afterSaving(now: Draft | null, saved: string, version: string): Draft | null {
  return now && now.text !== saved ? { ...now, version } : null
}
