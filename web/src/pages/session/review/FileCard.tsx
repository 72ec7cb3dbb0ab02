import { Button } from '@mantine/core'
import { IconCheck, IconChevronDown, IconChevronRight } from '@tabler/icons-react'
import { type ReactNode, useMemo, useState } from 'react'
import { tellProblem } from '@/lib/ask'
import { Churn, useColours } from '@/parts/Diff'
import { type Line, leftOut, linesOf } from '@/parts/diff-lines'
import { changedWords } from '@/parts/diff-words'
import { RunsOutside } from '@/parts/RunsOutside'
import type { ChangedFile } from '@/protocol/types'
import { changeNotes } from '../changeNotes'
import { HunkLines } from './HunkLines'
import { hunkName, keep, useKept, useView } from './kept'
import { type Hunk, hunksOf } from './rows'

/** More lines than this are shown on request. */
const FIRST_LINES = 600

const SPLIT = ['narrow', 'asking', 'half', 'narrow', 'asking', 'half']
const UNIFIED = ['narrow', 'narrow', 'asking', 'sign', 'half']

interface Props {
  session: string
  file: ChangedFile
  /** Empty for what others changed: that is only to be read. */
  version: string
  /** Fetches the file with all of its patch, where the daemon cut it. */
  whole?: () => Promise<ChangedFile | null | undefined>
  revert?: (hunks: number[]) => void
  busy?: boolean
}

/** One file: what changed in it, to be kept or taken back as a whole or hunk by hunk. */
export function FileCard({ session, file: told, version, whole: fetchWhole, revert, busy }: Props) {
  const [fetched, setFetched] = useState<{ file: ChangedFile; version: string } | null>(null)
  const file = fetched?.version === version ? fetched.file : told
  const [all, setAll] = useState(false)
  const lines = useMemo(() => linesOf(file.patch ?? ''), [file.patch])
  const hunks = useMemo(() => hunksOf(lines), [lines])
  const kept = useKept((state) => state.kept)
  const whole = kept.has(version)
  const shown = all ? hunks : upTo(hunks, FIRST_LINES)
  const missing = linesMissing(file, lines, hunks, shown)
  const showAll = async () => {
    const found = file.cut ? await fetchWhole?.() : null
    if (found) setFetched({ file: found, version })
    setAll(true)
  }
  // What nobody could look at is not marked as looked at; what no browser can show has to be.
  const unread = missing > 0 && !(all && file.cut)
  const [opened, setOpened] = useState<boolean | null>(null)
  const open = opened ?? !whole
  const canShow = shown.length < hunks.length || (file.cut && fetchWhole !== undefined && !all)
  const keepAll = (on: boolean) => {
    keep([version, ...hunks.map(({ number }) => hunkName(version, number))], on)
    setOpened(null)
  }
  return (
    <section className="review-file panel" aria-label={`Changes in ${file.path}`} id={cardId(file.path)}>
      <header>
        <button
          type="button"
          className="review-fold"
          aria-expanded={open}
          aria-label={`${open ? 'Fold' : 'Show'} ${file.path}`}
          onClick={() => setOpened(!open)}
        >
          {open ? <IconChevronDown size={16} /> : <IconChevronRight size={16} />}
        </button>
        <span className={`mono change-${file.status}`}>{file.status}</span>
        <span className="mono review-path" title={file.path}>
          {file.old_path ? `${file.old_path} → ${file.path}` : file.path}
        </span>
        <Churn added={file.added} removed={file.removed} />
        <RunsOutside reason={file.runs_outside} />
        <span className="review-notes dim">{changeNotes(file).join(', ')}</span>
        {revert && (
          <span className="review-actions">
            <KeepButton
              on={whole}
              label={`Keep ${file.path}`}
              toggle={() => keepAll(!whole)}
              waits={unread && !whole ? 'Show all of it first: some lines are left out' : ''}
            />
            <Button
              size="compact-xs"
              variant="default"
              disabled={busy}
              aria-label={`Revert ${file.path}`}
              onClick={() => revert([])}
            >
              Revert
            </Button>
          </span>
        )}
      </header>
      {open && (
        <Body
          session={session}
          file={file}
          version={version}
          revert={revert}
          busy={busy}
          lines={lines}
          hunks={hunks}
          shown={shown}
          left={
            missing > 0 && (
              <LeftOut missing={missing} hunks={hunks.length - shown.length} showAll={canShow ? showAll : null} />
            )
          }
        />
      )}
    </section>
  )
}

function Body({
  session,
  file,
  version,
  revert,
  busy,
  lines,
  hunks,
  shown,
  left,
}: Omit<Props, 'whole'> & { lines: Line[]; hunks: Hunk[]; shown: Hunk[]; left: ReactNode }) {
  const { split, wrap, words } = useView()
  const kept = useKept((state) => state.kept)
  const lit = useMemo(() => (words ? changedWords(lines) : new Map()), [lines, words])
  const colours = useColours(lines, file.path)
  if (file.binary) return <p className="dim review-said">Not a text: it can be kept or taken back as a whole.</p>
  if (hunks.length === 0)
    return (
      left || <p className="dim review-said">{file.patch ? 'Only its name or rights changed.' : 'Not shown here.'}</p>
    )
  const look = `review-lines ${split ? 'review-split' : ''} ${wrap ? 'diff-wrap' : ''}`
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
    <section className={look} tabIndex={0} aria-label={`Lines of ${file.path}`}>
      <table>
        <colgroup>
          {(split ? SPLIT : UNIFIED).map((kind, place) => (
            <col key={place} className={`review-${kind}`} />
          ))}
        </colgroup>
        {shown.map((hunk) => {
          const name = hunkName(version, hunk.number)
          const cutHere = file.cut && hunk.number === hunks.length
          return (
            <tbody key={hunk.number} className={kept.has(name) ? 'review-kept' : ''}>
              {/* The keys of the review lead here; Tab goes on to what can be done with it. */}
              <tr className="diff-hunk" tabIndex={-1} aria-label={`Hunk ${hunk.number} of ${file.path}`}>
                <td colSpan={split ? 6 : 5}>
                  <div className="review-hunk">
                    <span className="cut">{hunk.around || `hunk ${hunk.number} of ${hunks.length}`}</span>
                    {revert && !cutHere && (
                      <span className="review-actions">
                        <KeepButton
                          on={kept.has(name)}
                          label={`Keep hunk ${hunk.number} of ${file.path}`}
                          toggle={() => keep([name], !kept.has(name))}
                        />
                        {file.status === 'M' || file.status === 'R' ? (
                          <Button
                            size="compact-xs"
                            variant="default"
                            disabled={busy}
                            aria-label={`Revert hunk ${hunk.number} of ${file.path}`}
                            data-does="revert"
                            onClick={() => revert([hunk.number])}
                          >
                            Revert
                          </Button>
                        ) : null}
                      </span>
                    )}
                  </div>
                </td>
              </tr>
              <HunkLines session={session} path={file.path} hunk={hunk} split={split} painted={{ colours, lit }} />
            </tbody>
          )
        })}
      </table>
      {left}
    </section>
  )
}

/** What is not in sight, and the way to it. */
function LeftOut(props: { missing: number; hunks: number; showAll: (() => Promise<void>) | null }) {
  const { missing, hunks, showAll } = props
  const [busy, setBusy] = useState(false)
  if (!showAll)
    return (
      <p className="dim review-said">
        {missing} more {missing === 1 ? 'line is' : 'lines are'} too long to be shown here.
      </p>
    )
  const show = () => {
    setBusy(true)
    showAll()
      .catch(tellProblem)
      .finally(() => setBusy(false))
  }
  return (
    <button type="button" className="diff-more" disabled={busy} onClick={show}>
      {leftOut(missing, hunks, 'hunk')}
    </button>
  )
}

/** Lines of hunks that wait to be asked for, and changed lines that are no part of the patch as it was told. */
function linesMissing(file: ChangedFile, lines: Line[], hunks: Hunk[], shown: Hunk[]): number {
  const folded = hunks.slice(shown.length).reduce((sum, hunk) => sum + hunk.lines.length, 0)
  const told = lines.filter(({ kind }) => kind === 'added' || kind === 'removed').length
  return folded + (file.cut ? Math.max(0, (file.added ?? 0) + (file.removed ?? 0) - told) : 0)
}

function upTo(hunks: Hunk[], most: number): Hunk[] {
  let count = 0
  return hunks.filter(({ lines }, place) => {
    count += lines.length
    return place === 0 || count <= most
  })
}

function KeepButton(props: { on: boolean; label: string; toggle: () => void; waits?: string }) {
  const { on, label, toggle, waits = '' } = props
  return (
    <Button
      size="compact-xs"
      variant="default"
      className={on ? 'review-kept-button' : ''}
      aria-pressed={on}
      aria-label={label}
      data-does="keep"
      disabled={waits !== ''}
      title={waits || undefined}
      leftSection={on ? <IconCheck size={13} /> : null}
      onClick={toggle}
    >
      {on ? 'Kept' : 'Keep'}
    </Button>
  )
}

export function cardId(path: string): string {
  return `review-${encodeURIComponent(path)}`
}
