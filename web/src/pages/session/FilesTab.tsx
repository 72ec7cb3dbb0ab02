import { Button, TextInput } from '@mantine/core'
import { IconFile, IconFileCode } from '@tabler/icons-react'
import { useQueryClient } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { lazy, Suspense, useCallback, useEffect, useRef, useState } from 'react'
import { Refusal } from '@/connection/connection'
import { tellProblem, useAsk } from '@/lib/ask'
import { bytes } from '@/lib/format'
import { EmptyState, ErrorState, LoadingRows } from '@/parts/states'
import type { FileContent, SessionInfo } from '@/protocol/types'
import { useKeys } from '@/shell/shortcuts'
import { daemon } from '@/state/daemon'
import { FileTree } from './FileTree'
import './files.css'

const Editor = lazy(() => import('./Editor'))

/** The workspace's files: a tree, and the one that is open, to read and to edit. */
export default function FilesTab({ info }: { info: SessionInfo }) {
  const { file } = useSearch({ from: '/sessions/$id' })
  const navigate = useNavigate()
  const open = useCallback(
    (path: string) =>
      void navigate({ to: '/sessions/$id', params: { id: info.id }, search: { tab: 'files', file: path } }),
    [info.id, navigate],
  )
  return (
    <div className="files">
      <FileTree session={info.id} opened={file ?? ''} open={open} />
      <div className="files-main">
        {file ? (
          <OpenFile key={file} session={info.id} path={file} />
        ) : (
          <EmptyState icon={<IconFileCode size={24} />} title="Choose a file">
            What you save here is saved at once, beside the agent: it is told when a file it has read changes under it.
          </EmptyState>
        )}
      </div>
    </div>
  )
}

function OpenFile({ session, path }: { session: string; path: string }) {
  const content = useAsk('files.read', { session, path }, { staleTime: 0, refetchOnMount: 'always' })
  if (content.error) return <ErrorState problem={content.error} retry={() => void content.refetch()} />
  if (!content.data)
    return (
      <div className="files-loading">
        <LoadingRows count={12} height={14} />
      </div>
    )
  if (content.data.binary)
    return (
      <EmptyState icon={<IconFile size={24} />} title="Not a text">
        {path} has {bytes(content.data.size)} and cannot be shown here.
      </EmptyState>
    )
  return <Edit key={content.data.version} session={session} content={content.data} />
}

function Edit({ session, content }: { session: string; content: FileContent }) {
  const queries = useQueryClient()
  const [text, setText] = useState(content.text ?? '')
  const [saved, setSaved] = useState({ text: content.text ?? '', version: content.version ?? '' })
  const [busy, setBusy] = useState(false)
  const [conflict, setConflict] = useState('')
  const changed = text !== saved.text
  // A key can come before the letter typed just before it is drawn.
  const latest = useRef(text)
  const change = (typed: string) => {
    latest.current = typed
    setText(typed)
  }

  const save = async (over: boolean) => {
    const text = latest.current
    if (text === saved.text && !over) return
    setBusy(true)
    try {
      const version = over ? null : saved.version
      const written = await daemon.request('files.write', { session, path: content.path, text, version })
      setSaved({ text, version: written.version })
      setConflict('')
    } catch (problem) {
      if (problem instanceof Refusal && problem.info.code === 'conflict') setConflict(problem.message)
      else tellProblem(problem)
    } finally {
      setBusy(false)
    }
  }
  const reload = () => queries.resetQueries({ queryKey: ['files.read', { session, path: content.path }] })

  useKeys('File', [{ keys: 'mod+s', what: 'Save', run: () => void save(false), always: true }])
  useEffect(() => {
    if (!changed) return
    const warn = (event: BeforeUnloadEvent) => event.preventDefault()
    addEventListener('beforeunload', warn)
    return () => removeEventListener('beforeunload', warn)
  }, [changed])

  return (
    <>
      <header className="files-head">
        <span className="mono cut">{content.path}</span>
        {changed && <span className="files-changed">not saved</span>}
        <span className="files-actions">
          <Button size="compact-xs" variant="subtle" color="gray" onClick={() => void reload()}>
            Reload
          </Button>
          <Button size="compact-xs" disabled={!changed} loading={busy} onClick={() => void save(false)}>
            Save
          </Button>
        </span>
      </header>
      {conflict && (
        <div className="files-conflict" role="alert">
          <span>{conflict}</span>
          <Button size="compact-xs" variant="default" onClick={() => void reload()}>
            Take theirs
          </Button>
          <Button size="compact-xs" variant="default" onClick={() => void save(true)}>
            Keep mine
          </Button>
        </div>
      )}
      <Suspense fallback={<pre className="files-plain">{text}</pre>}>
        <Editor path={content.path} text={content.text ?? ''} change={change} />
      </Suspense>
    </>
  )
}

/** A new file's path, asked for in the tree. */
export function NewFile({ create, close }: { create: (path: string) => void; close: () => void }) {
  const [path, setPath] = useState('')
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        if (path.trim()) create(path.trim())
      }}
    >
      <TextInput
        size="xs"
        aria-label="Path of the new file"
        placeholder="src/new.py"
        value={path}
        onChange={(event) => setPath(event.currentTarget.value)}
        onBlur={close}
        onKeyDown={(event) => {
          if (event.key === 'Escape') close()
        }}
        autoFocus
      />
    </form>
  )
}
