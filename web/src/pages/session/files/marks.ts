import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { useFollowing } from '@/lib/following'
import type { FileEntry } from '@/protocol/types'
import { daemon } from '@/state/daemon'
import { unsavedIn, useDrafts } from './drafts'

export type GitMark = Exclude<NonNullable<FileEntry['mark']>, ''>

/** What is to be said of a file beside its name. */
export interface Mark {
  git?: GitMark
  /** This session changed it. */
  session?: boolean
  unsaved?: boolean
}

export const LETTERS: Record<GitMark, string> = { modified: 'M', new: 'N', deleted: 'D', conflict: '!' }

const GIT_WORDS: Record<GitMark, string> = {
  modified: 'modified since the last commit',
  new: 'new since the last commit',
  deleted: 'deleted since the last commit',
  conflict: 'in conflict after a merge',
}

export function wordsOf(mark: Mark): string {
  return [mark.git && GIT_WORDS[mark.git], mark.session && 'changed by this session', mark.unsaved && 'not saved']
    .filter(Boolean)
    .join(', ')
}

/** Marks by path, and the folders that something marked lies in. */
export function useMarks(session: string): { marks: Map<string, Mark>; folders: Map<string, Mark> } {
  const changedAt = daemon.session(session)((state) => state.conversation?.changedAt ?? 0)
  const turns = daemon.session(session)((state) => state.conversation?.info.turn_count ?? 0)
  const git = useQuery({
    queryKey: ['files.list', { session, changed: true }, changedAt],
    queryFn: () => daemon.request('files.list', { session, changed: true }),
    placeholderData: keepPreviousData,
    refetchOnWindowFocus: 'always',
  })
  const own = useFollowing(
    ['session.changes', session],
    changedAt,
    () => daemon.request('session.changes', { session }),
    turns > 0,
  )
  const drafts = useDrafts((state) => state.drafts)
  return useMemo(() => {
    const marks = new Map<string, Mark>()
    const add = (path: string, mark: Mark) => marks.set(path, { ...marks.get(path), ...mark })
    for (const { path, mark } of git.data?.entries ?? []) if (mark) add(path, { git: mark })
    for (const { path } of own.data?.files ?? []) add(path, { session: true })
    for (const path of unsavedIn(drafts, session)) add(path, { unsaved: true })
    return { marks, folders: foldersOf(marks) }
  }, [git.data, own.data, drafts, session])
}

export function foldersOf(marks: Map<string, Mark>): Map<string, Mark> {
  const folders = new Map<string, Mark>()
  for (const [path, mark] of marks)
    for (let end = path.lastIndexOf('/'); end > 0; end = path.lastIndexOf('/', end - 1)) {
      const folder = path.slice(0, end)
      const known = folders.get(folder)
      folders.set(folder, {
        git: known?.git ?? (mark.git ? 'modified' : undefined),
        session: known?.session || mark.session,
        unsaved: known?.unsaved || mark.unsaved,
      })
    }
  return folders
}
