import { type ClipboardEvent, useEffect, useState } from 'react'
import { tellProblem } from '@/lib/ask'
import { type Attachment, attach } from './attachments'

/** What goes with the next message, by session: it stays while another session is looked at. */
const kept = new Map<string, Attachment[]>()

/** Files that are chosen, pasted, or dropped anywhere on the page. */
export function useFiles(session: string) {
  const [attached, set] = useState<Attachment[]>(kept.get(session) ?? [])
  const [over, setOver] = useState(false)
  useEffect(() => {
    if (attached.length > 0) kept.set(session, attached)
    else kept.delete(session)
  }, [session, attached])

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
  return { attached, set, add, remove, over, onPaste }
}
