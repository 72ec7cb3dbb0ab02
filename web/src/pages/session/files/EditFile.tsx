import { Button } from '@mantine/core'
import { type ReactNode, Suspense, useEffect, useState } from 'react'
import { later } from '@/lib/later'
import { Ago } from '@/parts/Ago'
import { Choice } from '@/parts/Choice'
import { useKeys } from '@/shell/shortcuts'
import { DownloadFile } from './DownloadFile'
import { useDrafts, writeDrafts } from './drafts'
import type { Standing } from './editing'
import { PictureOf } from './PictureFile'
import { useEditing } from './use-editing'

const Editor = later(() => import('../Editor'), true)
const Compare = later(() => import('./Compare'), true)

interface Props {
  session: string
  path: string
  line: number | undefined
  standing: Standing
  lead: ReactNode
}

/** A text, to read and to edit. What is typed is kept until it is saved or discarded, whatever happens in between. */
export function EditFile({ session, path, line, standing, lead }: Props) {
  const edit = useEditing(session, path, standing)
  const [comparing, setComparing] = useState(false)
  const [isPicture, setIsPicture] = useState(path.endsWith('.svg'))
  // An edit that was there already is told; one that begins now is known to who types.
  const [cameBack, setCameBack] = useState(edit.editing === 'edited')
  const { tooLarge } = useDrafts()
  const changed = edit.editing !== 'same'
  useKeys('File', [{ keys: 'mod+s', what: 'Save', run: () => void edit.save(), always: true }])
  useEffect(() => writeDrafts, [])
  useEffect(() => {
    if (!changed || !tooLarge) return
    const warn = (event: BeforeUnloadEvent) => event.preventDefault()
    addEventListener('beforeunload', warn)
    return () => removeEventListener('beforeunload', warn)
  }, [changed, tooLarge])
  useEffect(() => {
    if (!changed) {
      setComparing(false)
      setCameBack(false)
    }
  }, [changed])

  const compare = (
    <Button size="compact-xs" variant="default" aria-pressed={comparing} onClick={() => setComparing(!comparing)}>
      {comparing ? 'Edit' : 'Compare'}
    </Button>
  )
  return (
    <>
      <header className="files-head">
        {lead}
        <span className="mono files-path" title={path}>
          <bdi>{path}</bdi>
        </span>
        {changed && <span className="files-changed">not saved</span>}
        <span className="files-actions">
          {path.endsWith('.svg') && (
            <Choice
              label="Show it as"
              choices={['picture', 'text']}
              value={isPicture ? 'picture' : 'text'}
              choose={(chosen) => setIsPicture(chosen === 'picture')}
            />
          )}
          {!standing.gone && <DownloadFile session={session} path={path} />}
          <Button
            size="compact-xs"
            disabled={edit.editing !== 'edited'}
            loading={edit.busy}
            onClick={() => void edit.save()}
          >
            Save
          </Button>
        </span>
      </header>
      {edit.editing === 'conflict' && (
        <div className="files-conflict" role="alert">
          <span>
            {standing.gone
              ? 'The file is gone. What you wrote is kept here.'
              : 'It was changed meanwhile. What you wrote is kept, and not saved.'}
          </span>
          {!standing.gone && compare}
          <Button size="compact-xs" variant="default" loading={edit.busy} onClick={() => void edit.saveOver()}>
            {standing.gone ? 'Save it again' : 'Keep mine'}
          </Button>
          <Button size="compact-xs" variant="default" onClick={edit.discard}>
            {standing.gone ? 'Discard' : 'Take theirs'}
          </Button>
        </div>
      )}
      {cameBack && edit.editing === 'edited' && edit.draft && (
        <div className="files-notice" role="status">
          <span>
            Your edit of <Ago at={edit.draft.at / 1000} /> is back, and not saved.
          </span>
          {compare}
          <Button size="compact-xs" variant="default" onClick={() => setCameBack(false)}>
            Keep
          </Button>
          <Button size="compact-xs" variant="default" onClick={edit.discard}>
            Discard
          </Button>
        </div>
      )}
      {!changed && edit.bringBack && (
        <div className="files-notice" role="status">
          <span>Your edit was discarded.</span>
          <Button size="compact-xs" variant="default" onClick={edit.bringBack}>
            Bring it back
          </Button>
        </div>
      )}
      {changed && tooLarge && (
        <div className="files-conflict" role="alert">
          This browser keeps no more: save it before you leave the page.
        </div>
      )}
      {isPicture && path.endsWith('.svg') ? (
        <PictureOf path={path} source={`data:image/svg+xml;utf8,${encodeURIComponent(edit.text)}`} />
      ) : (
        <Suspense fallback={<pre className="files-plain">{edit.text}</pre>}>
          {comparing && changed ? (
            <Compare path={path} theirs={standing.text} mine={edit.text} />
          ) : (
            <Editor path={path} text={edit.text} line={line} change={edit.change} now={edit.now} />
          )}
        </Suspense>
      )}
    </>
  )
}
