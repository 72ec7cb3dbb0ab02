import { useComputedColorScheme } from '@mantine/core'
import { useEffect, useRef } from 'react'
import { LOOK, monaco, themeOf } from '../monaco'

/** What stands in the workspace on the left, one's own on the right. */
export default function Compare({ path, theirs, mine }: { path: string; theirs: string; mine: string }) {
  const place = useRef<HTMLDivElement>(null)
  const scheme = useComputedColorScheme('dark')
  useEffect(() => {
    const original = monaco.editor.createModel(theirs, undefined, monaco.Uri.parse(`theirs:/${path}`))
    const modified = monaco.editor.createModel(mine, undefined, monaco.Uri.parse(`mine:/${path}`))
    const editor = monaco.editor.createDiffEditor(place.current!, {
      ...LOOK,
      readOnly: true,
    })
    editor.setModel({ original, modified })
    // Each side by itself: what the comparison is told of their names does not reach the fields.
    editor.getOriginalEditor().updateOptions({ ariaLabel: `${path} as it stands there` })
    editor.getModifiedEditor().updateOptions({ ariaLabel: `${path} as you wrote it` })
    return () => {
      editor.dispose()
      original.dispose()
      modified.dispose()
    }
  }, [path, theirs, mine])
  useEffect(() => monaco.editor.setTheme(themeOf(scheme)), [scheme])
  return (
    <>
      <div className="files-sides dim">
        <span>as it stands there</span>
        <span>yours</span>
      </div>
      <div ref={place} className="editor" />
    </>
  )
}
