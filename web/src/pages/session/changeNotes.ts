import type { ChangedFile } from '@/protocol/types'

/** What a person should know of a changed file besides how it changed. */
export function changeNotes({ others, shared }: ChangedFile): string[] {
  const notes: string[] = []
  if (others) notes.push('others have changed it since')
  if (shared) notes.push(`not surely this session’s: ${shared}`)
  return notes
}
