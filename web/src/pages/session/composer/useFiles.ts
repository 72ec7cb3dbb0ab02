import { type ClipboardEvent, useCallback, useEffect, useState } from 'react'
import { tellProblem } from '@/lib/ask'
import { tell } from '@/lib/tell'
import { type Attachment, attach, attachedAgain } from './attachments'
import { filesKept, keepFiles, TooLarge } from './kept-files'

/** What goes with the next message, by session: it stays while another session is looked at. */
const kept = new Map<string, Attachment[]>()

/** Files that are chosen, pasted, or dropped anywhere on the page. */
export function useFiles(session: string) {
  const [attached, set] = useState<Attachment[]>(kept.get(session) ?? [])
  const [over, setOver] = useState(false)
  /** What an earlier page kept is here; before that nothing may be written over it. */
  const [known, setKnown] = useState(kept.has(session))
  useEffect(() => {
    if (kept.has(session)) return
    let here = true
    filesKept(session)
      .catch(() => [])
      .then((found) => {
        if (!here) return
        set((added) => [...found.map(attachedAgain), ...added])
        setKnown(true)
      })
    return () => {
      here = false
    }
  }, [session])
  const keep = useCallback(
    (now: Attachment[]) => {
      if (kept.get(session) === now || (now.length === 0 && !kept.has(session))) return
      if (now.length > 0) kept.set(session, now)
      else kept.delete(session)
      // A storage that is full or forbidden: it lives as long as the page.
      keepFiles(session, now).catch((problem) => problem instanceof TooLarge && tellNotKept(problem))
    },
    [session],
  )

  const add = (files: Iterable<File>) => {
    for (const file of files) attach(file).then((one) => set((before) => [...before, one]), tellProblem)
  }
  useEffect(() => {
    const hasFiles = (event: DragEvent) => event.dataTransfer?.types.includes('Files') ?? false
    const onOver = (event: DragEvent) => {
      if (!hasFiles(event)) return
      event.preventDefault()
      setOver(true)
    }
    const onLeave = (event: DragEvent) => {
      if (event.relatedTarget === null) setOver(false)
    }
    const onDrop = (event: DragEvent) => {
      setOver(false)
      if (event.defaultPrevented || !hasFiles(event)) return
      // Without this the browser leaves the page to show the file.
      event.preventDefault()
      for (const file of event.dataTransfer?.files ?? [])
        attach(file).then((one) => set((before) => [...before, one]), tellProblem)
    }
    addEventListener('dragover', onOver)
    addEventListener('dragleave', onLeave)
    addEventListener('drop', onDrop)
    return () => {
      removeEventListener('dragover', onOver)
      removeEventListener('dragleave', onLeave)
      removeEventListener('drop', onDrop)
    }
  }, [])

  const onPaste = (event: ClipboardEvent) => {
    const files = [...event.clipboardData.files]
    if (files.length === 0) return
    event.preventDefault()
    add(files)
  }
  const remove = (gone: Attachment) => set((before) => before.filter((one) => one !== gone))
  return { attached, set, known, keep, add, remove, over, onPaste }
}

function tellNotKept({ message }: TooLarge): void {
  tell({ tone: 'warn', title: 'Too large to be kept', text: message })
}
