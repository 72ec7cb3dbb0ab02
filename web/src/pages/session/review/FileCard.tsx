import { Button } from '@mantine/core'
import { IconCheck, IconChevronDown, IconChevronRight } from '@tabler/icons-react'
import { useMemo, useState } from 'react'
import { Churn, useColours } from '@/parts/Diff'
import { linesOf } from '@/parts/diff-lines'
import { changedWords } from '@/parts/diff-words'
import type { ChangedFile } from '@/protocol/types'
import { changeNotes } from '../changeNotes'
import { HunkLines } from './HunkLines'
import { hunkName, keep, useKept, useView } from './kept'
import { hunksOf } from './rows'

/** More lines than this are shown on request. */
const FIRST_LINES = 1500

const SPLIT = ['narrow', 'asking', 'half', 'narrow', 'asking', 'half']
const UNIFIED = ['narrow', 'narrow', 'asking', 'sign', 'half']

interface Props {
  session: string
  file: ChangedFile
  /** Empty for what others changed: that is only to be read. */
  version: string
  revert?: (hunks: number[]) => void
  busy?: boolean
}

/** One file: what changed in it, to be kept or taken back as a whole or hunk by hunk. */
export function FileCard({ session, file, version, revert, busy }: Props) {
  const lines = useMemo(() => linesOf(file.patch ?? ''), [file.patch])
  const hunks = useMemo(() => hunksOf(lines), [lines])
  const kept = useKept((state) => state.kept)
  const whole = kept.has(version)
  const [opened, setOpened] = useState<boolean | null>(null)
  const open = opened ?? !whole
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
        <span className="review-notes dim">{changeNotes(file).join(', ')}</span>
        {revert && (
          <span className="review-actions">
            <KeepButton on={whole} label={`Keep ${file.path}`} toggle={() => keepAll(!whole)} />
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
        <Body session={session} file={file} version={version} revert={revert} busy={busy} lines={lines} hunks={hunks} />
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
}: Props & { lines: ReturnType<typeof linesOf>; hunks: ReturnType<typeof hunksOf> }) {
  const { split, wrap, words } = useView()
  const [all, setAll] = useState(false)
  const kept = useKept((state) => state.kept)
  const lit = useMemo(() => (words ? changedWords(lines) : new Map()), [lines, words])
  const colours = useColours(lines, file.path)
  if (file.binary) return <p className="dim review-said">Not a text: it can be kept or taken back as a whole.</p>
  if (hunks.length === 0)
    return <p className="dim review-said">{file.patch ? 'Only its name or rights changed.' : 'Not shown here.'}</p>
  const look = `review-lines ${split ? 'review-split' : ''} ${wrap ? 'diff-wrap' : ''}`
  const shown = all ? hunks : upTo(hunks, FIRST_LINES)
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
      {shown.length < hunks.length && (
        <button type="button" className="diff-more" onClick={() => setAll(true)}>
          {hunks.length - shown.length} more hunks
        </button>
      )}
      {file.cut && <p className="dim review-said">The rest is too long to be shown here.</p>}
    </section>
  )
}

function upTo(hunks: ReturnType<typeof hunksOf>, most: number): ReturnType<typeof hunksOf> {
  let count = 0
  return hunks.filter(({ lines }, place) => {
    count += lines.length
    return place === 0 || count <= most
  })
}

function KeepButton({ on, label, toggle }: { on: boolean; label: string; toggle: () => void }) {
  return (
    <Button
      size="compact-xs"
      variant="default"
      className={on ? 'review-kept-button' : ''}
      aria-pressed={on}
      aria-label={label}
      data-does="keep"
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
