import { Suspense, useEffect, useMemo, useRef } from 'react'
import { later } from '@/lib/later'
import { Churn, DiffLines } from '@/parts/Diff'
import { type FileDiff, filesOf, leftOut } from '@/parts/diff-lines'
import type { PermissionAsk } from '@/protocol/types'
import { isHeld } from './words'

const Highlighted = later(() => import('@/parts/Highlighted'))

/** More lines than this are shown on request; only then is the end in sight. */
const FIRST_LINES = 2000

type Seen = (inSight: boolean) => void

interface Props {
  ask: PermissionAsk
  /** Whether all of a long change is wanted, and who wants it. */
  all: boolean
  showAll: () => void
  /** Told whether the end of it is in sight. */
  seen: Seen
}

/** All of what it is about: the exact command, or the change as it would be made. */
export function Subject({ ask, all, showAll, seen }: Props) {
  const { command, path, old, new: fresh, content } = ask.arguments
  const told = useMemo(() => filesOf(ask.diff ?? ''), [ask.diff])
  const end = <End seen={seen} />
  const changes = (files: FileDiff[]) => (
    <Changes ask={ask} files={files} all={all} showAll={showAll} end={end} below={<Below seen={seen} />} />
  )
  if (told.length > 0) return changes(told)
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
    return changes([replacement(path, said[0] as string, said[1])])
  return <Text text={wholeCall(ask)} end={end} />
}

/** What a call says itself, where nothing compares it with what is there: its summary tells only some of it. */
function wholeCall({ arguments: given, summary }: PermissionAsk): string {
  const { patch, content } = given
  if (typeof patch === 'string') return patch
  if (typeof content === 'string') return content
  const rest = Object.values(given).filter((value) => !summary.includes(String(value)))
  if (summary && rest.length === 0) return summary
  return [summary, JSON.stringify(given, null, 2)].filter(Boolean).join('\n\n')
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

interface ChangesProps extends Omit<Props, 'seen'> {
  files: FileDiff[]
  end: React.ReactNode
  /** In the place of the end while that is left out. */
  below: React.ReactNode
}

/** What is left out is told, and leads to itself. The daemon leaves out lines too; then the call's own words say them. */
function Changes({ ask, files, all, showAll, end, below }: ChangesProps) {
  const { shown, cut, lines } = all ? { shown: files, cut: 0, lines: 0 } : within(files, FIRST_LINES)
  const [moreLines, moreFiles] = [ask.more_lines ?? 0, ask.more_files ?? 0]
  return (
    <>
      {shown.map((file) => (
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
            first={Number.POSITIVE_INFINITY}
            wrap
          />
        </div>
      ))}
      {!all && lines + moreLines > 0 ? (
        <>
          <button type="button" className="diff-more" onClick={showAll}>
            {leftOut(lines + moreLines, cut + moreFiles)}
          </button>
          {below}
        </>
      ) : (
        <>
          {moreLines > 0 && (
            <Text
              text={wholeCall(ask)}
              label={`${moreLines} more lines in ${moreFiles} ${moreFiles === 1 ? 'file' : 'files'} are too long to be compared. This is all of the call:`}
            />
          )}
          {end}
        </>
      )}
    </>
  )
}

/** So many lines from the beginning; how many are left out, and in how many files. */
function within(files: FileDiff[], most: number): { shown: FileDiff[]; cut: number; lines: number } {
  let room = most
  let cut = 0
  const shown = files.flatMap((file) => {
    const lines = file.lines.slice(0, room)
    room -= lines.length
    if (lines.length < file.lines.length) cut += 1
    return lines.length > 0 || file.lines.length === 0 ? [{ ...file, lines }] : []
  })
  const all = files.reduce((sum, file) => sum + file.lines.length, 0)
  return { shown, cut, lines: all - (most - room) }
}

/** What a call says of a file that it could not be compared with: no numbers, since nobody knows them. */
function replacement(path: string, old: string, fresh: string): FileDiff {
  const marked = (text: string, kind: 'added' | 'removed') =>
    (text ? text.split('\n') : []).map((line) => ({ kind, text: line, old: null, now: null }))
  const [removed, added] = [marked(old, 'removed'), marked(fresh, 'added')]
  return { path, fate: 'changed', lines: [...removed, ...added], added: added.length, removed: removed.length }
}

/** The end is nowhere: it has to be asked for. */
function Below({ seen }: { seen: Seen }) {
  useEffect(() => seen(false), [seen])
  return null
}

/** The end of it. In sight means in sight of the person: whatever scrolls around it is taken into account. */
function End({ seen }: { seen: Seen }) {
  const end = useRef<HTMLSpanElement>(null)
  useEffect(() => {
    const watch = new IntersectionObserver((entries) => seen(entries.some((entry) => entry.isIntersecting)))
    if (end.current) watch.observe(end.current)
    return () => watch.disconnect()
  }, [seen])
  return <span ref={end} className="ask-end" aria-hidden />
}
