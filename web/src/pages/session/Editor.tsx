import { useComputedColorScheme } from '@mantine/core'
import { useEffect, useRef } from 'react'
import { LOOK, monaco, themeOf } from './monaco'

interface Props {
  path: string
  text: string
  /** The line to show, and to begin at. */
  line?: number
  change: (text: string) => void
  /** The text of this moment, which a drawing may lag behind. */
  now: () => string
}

/** How far a file was scrolled, for who comes back to it. */
const views = new Map<string, monaco.editor.ICodeEditorViewState>()

export default function Editor({ path, text, line, change, now }: Props) {
  const place = useRef<HTMLDivElement>(null)
  const shown = useRef<monaco.editor.IStandaloneCodeEditor>(null)
  const scheme = useComputedColorScheme('dark')
  const onChange = useRef(change)
  onChange.current = change
  const first = useRef({ line, now })
  first.current = { line, now }

  useEffect(() => {
    const model = monaco.editor.createModel(first.current.now(), undefined, monaco.Uri.file(`/${path}`))
    const editor = monaco.editor.create(place.current!, { ...LOOK, model, ariaLabel: path })
    shown.current = editor
    const view = views.get(path)
    if (view && first.current.line === undefined) editor.restoreViewState(view)
    const watching = model.onDidChangeContent(({ isFlush }) => {
      if (!isFlush) onChange.current(model.getValue())
    })
    return () => {
      const left = editor.saveViewState()
      if (left) views.set(path, left)
      shown.current = null
      watching.dispose()
      editor.dispose()
      model.dispose()
    }
  }, [path])

  // What comes from elsewhere takes the text's place, not the reader's: an agent's edit, a draft that was discarded.
  useEffect(() => {
    const model = shown.current?.getModel()
    const wanted = first.current.now()
    if (!model || model.getValue() === wanted) return
    const view = shown.current?.saveViewState() ?? null
    model.setValue(wanted)
    shown.current?.restoreViewState(view)
  }, [text])

  useEffect(() => {
    const editor = shown.current
    if (!editor || line === undefined) return
    const there = Math.min(line, editor.getModel()?.getLineCount() ?? line)
    editor.setPosition({ lineNumber: there, column: 1 })
    editor.revealLineInCenter(there)
    const marks = editor.createDecorationsCollection([
      { range: new monaco.Range(there, 1, there, 1), options: { isWholeLine: true, className: 'editor-line' } },
    ])
    return () => marks.clear()
  }, [path, line])

  useEffect(() => monaco.editor.setTheme(themeOf(scheme)), [scheme])
  return <div ref={place} className="editor" />
}
