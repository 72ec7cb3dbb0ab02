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

self.MonacoEnvironment = { getWorker: () => new EditorWorker() }

monaco.editor.defineTheme('openagent-dark', {
  base: 'vs-dark',
  inherit: true,
  rules: [],
  colors: {
    'editor.background': '#0e1015',
    'editorGutter.background': '#0e1015',
    'editorLineNumber.foreground': '#7b8191',
    'editorLineNumber.activeForeground': '#e6e8ee',
    'editor.lineHighlightBackground': '#191c23',
    'editor.lineHighlightBorder': '#00000000',
  },
})
monaco.editor.defineTheme('openagent-light', {
  base: 'vs',
  inherit: true,
  rules: [],
  colors: {
    'editorLineNumber.foreground': '#6b7181',
    'editorLineNumber.activeForeground': '#1a1d26',
    'editor.lineHighlightBackground': '#f1f3f7',
    'editor.lineHighlightBorder': '#00000000',
  },
})

export function themeOf(scheme: 'dark' | 'light'): string {
  return scheme === 'dark' ? 'openagent-dark' : 'openagent-light'
}

export const LOOK: monaco.editor.IEditorOptions = {
  automaticLayout: true,
  fontFamily: "'JetBrains Mono Variable', monospace",
  fontSize: 13,
  minimap: { enabled: false },
  scrollBeyondLastLine: false,
  renderLineHighlight: 'line',
  // Tab leaves the editor after Ctrl-M, as the editor's own help says.
  accessibilitySupport: 'auto',
  // The last line's number would be too faint to read.
  renderFinalNewline: 'on',
  padding: { top: 8 },
}

export { monaco }
