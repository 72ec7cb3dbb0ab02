import { useComputedColorScheme } from '@mantine/core'
import * as monaco from 'monaco-editor/editor/editor.api'
import EditorWorker from 'monaco-editor/editor/editor.worker?worker'
import 'monaco-editor/basic-languages/monaco.contribution'
import 'monaco-editor/editor/contrib/find/browser/findController'
import 'monaco-editor/editor/contrib/folding/browser/folding'
import 'monaco-editor/editor/contrib/bracketMatching/browser/bracketMatching'
import 'monaco-editor/editor/contrib/comment/browser/comment'
import 'monaco-editor/editor/contrib/indentation/browser/indentation'
import 'monaco-editor/editor/contrib/linesOperations/browser/linesOperations'
import 'monaco-editor/editor/contrib/multicursor/browser/multicursor'
import 'monaco-editor/editor/contrib/clipboard/browser/clipboard'
import { useEffect, useRef } from 'react'

self.MonacoEnvironment = { getWorker: () => new EditorWorker() }

monaco.editor.defineTheme('openagent-dark', {
  base: 'vs-dark',
  inherit: true,
  rules: [],
  colors: { 'editor.background': '#0e1015', 'editorGutter.background': '#0e1015' },
})
monaco.editor.defineTheme('openagent-light', { base: 'vs', inherit: true, rules: [], colors: {} })

interface Props {
  path: string
  text: string
  change: (text: string) => void
}

export default function Editor({ path, text, change }: Props) {
  const place = useRef<HTMLDivElement>(null)
  const scheme = useComputedColorScheme('dark')
  const onChange = useRef(change)
  onChange.current = change

  useEffect(() => {
    const model = monaco.editor.createModel(text, undefined, monaco.Uri.file(`/${path}`))
    const editor = monaco.editor.create(place.current!, {
      model,
      automaticLayout: true,
      fontFamily: "'JetBrains Mono Variable', monospace",
      fontSize: 13,
      minimap: { enabled: false },
      scrollBeyondLastLine: false,
      ariaLabel: path,
      renderLineHighlight: 'line',
      // Tab leaves the editor after Ctrl-M, as the editor's own help says.
      accessibilitySupport: 'auto',
      padding: { top: 8 },
    })
    const watching = model.onDidChangeContent(() => onChange.current(model.getValue()))
    return () => {
      watching.dispose()
      editor.dispose()
      model.dispose()
    }
  }, [path])

  useEffect(() => monaco.editor.setTheme(scheme === 'dark' ? 'openagent-dark' : 'openagent-light'), [scheme])
  return <div ref={place} className="editor" />
}
