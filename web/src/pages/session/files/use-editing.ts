import { useQueryClient } from '@tanstack/react-query'
import { useCallback, useEffect, useRef, useState } from 'react'
import { Refusal } from '@/connection/connection'
import { tellProblem } from '@/lib/ask'
import type { FileContent } from '@/protocol/types'
import { daemon } from '@/state/daemon'
import { type Draft, draftOf, keyOf, setDraft, touch, useDrafts } from './drafts'
import { afterSaving, editingOf, type Standing, typed } from './editing'

/** One file's text, what a person made of it, and what becomes of both. */
export function useEditing(session: string, path: string, standing: Standing) {
  const queries = useQueryClient()
  const draft = useDrafts(({ drafts }) => drafts[keyOf(session, path)] ?? null)
  const editing = editingOf(standing, draft)
  const [busy, setBusy] = useState(false)
  const [discarded, setDiscarded] = useState<Draft | null>(null)
  const now = useRef(standing)
  now.current = standing

  // What was saved, here or by anybody, with the same words is no edit any more.
  useEffect(() => {
    if (draft && editing === 'same') setDraft(session, path, null)
  }, [draft, editing, session, path])

  const change = useCallback(
    (text: string) => {
      touch(session, path)
      setDiscarded(null)
      setDraft(session, path, typed(now.current, draftOf(session, path), text, Date.now()))
    },
    [session, path],
  )
  const textNow = useCallback(() => draftOf(session, path)?.text ?? now.current.text, [session, path])
  const readAgain = () => queries.invalidateQueries({ queryKey: ['files.read', { session, path, picture: true }] })

  /** Only over what the person has seen: should it be another by now, that is shown first. */
  const save = async (version = draftOf(session, path)?.version) => {
    const mine = draftOf(session, path)
    if (!mine || version === undefined) return
    setBusy(true)
    try {
      const written = await daemon.request('files.write', { session, path, text: mine.text, version })
      const content: FileContent = { path, size: written.size, version: written.version, text: mine.text }
      queries.setQueryData(['files.read', { session, path, picture: true }], content)
      setDraft(session, path, afterSaving(draftOf(session, path), mine.text, written.version))
      void queries.invalidateQueries({ queryKey: ['files.list'] })
    } catch (problem) {
      if (!(problem instanceof Refusal && problem.info.code === 'conflict')) tellProblem(problem)
      await readAgain()
    } finally {
      setBusy(false)
    }
  }
  const discard = () => {
    setDiscarded(draft)
    setDraft(session, path, null)
  }
  const bringBack = () => {
    setDraft(session, path, discarded)
    setDiscarded(null)
  }
  return {
    draft,
    editing,
    busy,
    text: draft?.text ?? standing.text,
    now: textNow,
    change,
    save: () => save(),
    saveOver: () => save(standing.version),
    discard,
    bringBack: discarded ? bringBack : null,
  }
}
