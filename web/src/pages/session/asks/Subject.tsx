import { Suspense, useEffect, useMemo, useRef } from 'react'
import { later } from '@/lib/later'
import { Churn, DiffLines } from '@/parts/Diff'
import { type FileDiff, filesOf } from '@/parts/diff-lines'
import type { PermissionAsk } from '@/protocol/types'
import { isHeld } from './words'

const Highlighted = later(() => import('@/parts/Highlighted'))

/** More lines of one file than this are shown on request; only then is the end in sight. */
const FIRST_LINES = 2000

/** All of what it is about: the exact command, or the change as it would be made. `seen` when its end is in sight. */
export function Subject({ ask, seen }: { ask: PermissionAsk; seen: () => void }) {
  const { command, path, old, new: fresh, content } = ask.arguments
  const files = useMemo(() => filesOf(ask.diff ?? ''), [ask.diff])
  const end = <End seen={seen} />
  if (files.length > 0) return <Changes files={files} seen={seen} />
  if (isHeld(ask))
    return (
      <>
        <Text text={ask.summary} />
        {typeof command === 'string' && <Text text={command} language="bash" label="From the command" />}
        {end}
      </>
    )
  if (typeof command === 'string') return <Text text={command} language="bash" end={end} />
  const said = typeof fresh === 'string' ? [typeof old === 'string' ? old : '', fresh] : ['', content]
  if (typeof path === 'string' && typeof said[1] === 'string')
    return <Changes files={[replacement(path, said[0] as string, said[1])]} seen={seen} />
  return <Text text={ask.summary || JSON.stringify(ask.arguments, null, 2)} end={end} />
}

/** In words that go on below where they do not fit: nothing of it is out of sight to the side. */
function Text(props: { text: string; language?: string; label?: string; end?: React.ReactNode }) {
  const { text, language } = props
  return (
    <>
      {props.label && <p className="ask-label dim">{props.label}</p>}
      <pre className="ask-text">
        <code>
          {language ? (
            <Suspense fallback={text}>
              <Highlighted code={text} language={language} />
            </Suspense>
          ) : (
            text
          )}
        </code>
      </pre>
      {props.end}
    </>
  )
}

const FATES = { new: 'new file', gone: 'is deleted', changed: '' }

function Changes({ files, seen }: { files: FileDiff[]; seen: () => void }) {
  return files.map((file, place) => (
    <div key={file.path} className="ask-file">
      {files.length > 1 && (
        <p className="ask-label mono">
          {file.path} <Churn added={file.added} removed={file.removed} />{' '}
          <span className="dim">{FATES[file.fate]}</span>
        </p>
      )}
      <DiffLines
        lines={file.lines}
        label={`Change of ${file.path}`}
        path={file.path}
        first={FIRST_LINES}
        wrap
        end={place === files.length - 1 ? <End seen={seen} /> : undefined}
      />
    </div>
  ))
}

/** What a call says of a file that it could not be compared with: no numbers, since nobody knows them. */
function replacement(path: string, old: string, fresh: string): FileDiff {
  const marked = (text: string, kind: 'added' | 'removed') =>
    (text ? text.split('\n') : []).map((line) => ({ kind, text: line, old: null, now: null }))
  const [removed, added] = [marked(old, 'removed'), marked(fresh, 'added')]
  return { path, fate: 'changed', lines: [...removed, ...added], added: added.length, removed: removed.length }
}

/** The end of it. In sight means in sight of the person: whatever scrolls around it is taken into account. */
function End({ seen }: { seen: () => void }) {
  const end = useRef<HTMLSpanElement>(null)
  const latest = useRef(seen)
  latest.current = seen
  useEffect(() => {
    const watch = new IntersectionObserver((entries) => {
      if (entries.some((entry) => entry.isIntersecting)) latest.current()
    })
    if (end.current) watch.observe(end.current)
    return () => watch.disconnect()
  }, [])
  return <span ref={end} className="ask-end" aria-hidden />
}
