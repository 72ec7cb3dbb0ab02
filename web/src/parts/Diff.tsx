import { memo, useEffect, useMemo, useState } from 'react'
import type { Piece } from './code-lines'
import './diff.css'
import { type Line, leftOut, linesOf } from './diff-lines'
import { changedWords, type Range } from './diff-words'
import { languageOf } from './languages'

/** More lines than this are shown on request. */
const FIRST_LINES = 400
/** Longer diffs are shown without colours. */
const MOST_COLOURED = 3000

const SIGNS = { added: '+', removed: '−', same: ' ', hunk: '' } as const

interface Props {
  patch: string
  label: string
  /** The file's name: by its ending the code gets its colours. */
  path?: string
  /** So many lines at first; the rest on request. */
  first?: number
  /** Long lines go on below in place of being scrolled to. */
  wrap?: boolean
}

export const Diff = memo(function Diff({ patch, ...props }: Props) {
  const lines = useMemo(() => linesOf(patch), [patch])
  return <DiffLines lines={lines} {...props} />
})

export function DiffLines({
  lines,
  label,
  path = '',
  first = FIRST_LINES,
  wrap,
}: Omit<Props, 'patch'> & { lines: Line[] }) {
  const [all, setAll] = useState(false)
  const lit = useMemo(() => changedWords(lines), [lines])
  const colours = useColours(lines, path)
  const shown = all ? lines : lines.slice(0, first)
  if (lines.length === 0) return <p className="dim diff-empty">No lines to compare.</p>
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
    <section className={wrap ? 'diff diff-wrap' : 'diff'} tabIndex={0} aria-label={label}>
      <table>
        <tbody>
          {shown.map((line, index) =>
            line.kind === 'hunk' ? (
              <tr key={index} className="diff-hunk">
                <td colSpan={4}>{line.text || '⋯'}</td>
              </tr>
            ) : (
              <tr key={index} className={`diff-${line.kind}`}>
                <td className="diff-number">{line.old}</td>
                <td className="diff-number">{line.now}</td>
                <td className="diff-sign">{SIGNS[line.kind]}</td>
                <td className="diff-text">
                  <Code pieces={colours?.get(index) ?? [{ text: line.text, kind: '' }]} lit={lit.get(index)} />
                </td>
              </tr>
            ),
          )}
        </tbody>
      </table>
      {shown.length < lines.length && (
        <button type="button" className="diff-more" onClick={() => setAll(true)}>
          {leftOut(lines.length - shown.length, 1)}
        </button>
      )}
    </section>
  )
}

/** A line's pieces; those that are other words now are lit. */
export function Code({ pieces, lit }: { pieces: Piece[]; lit: Range[] | undefined }) {
  const shown = lit ? cutAt(pieces, lit) : pieces.map((piece) => ({ ...piece, lit: false }))
  return shown.map((piece, place) => {
    if (!piece.kind && !piece.lit) return piece.text
    const kind = [piece.kind, piece.lit ? 'diff-lit' : ''].filter(Boolean).join(' ')
    return (
      <span key={place} className={kind}>
        {piece.text}
      </span>
    )
  })
}

function cutAt(pieces: Piece[], lit: Range[]): (Piece & { lit: boolean })[] {
  const edges = lit.flat()
  const cut: (Piece & { lit: boolean })[] = []
  let at = 0
  for (const { text, kind } of pieces) {
    const places = [at, ...edges.filter((edge) => edge > at && edge < at + text.length), at + text.length]
    for (let nth = 0; nth + 1 < places.length; nth += 1) {
      const [from, to] = [places[nth]!, places[nth + 1]!]
      cut.push({
        text: text.slice(from - at, to - at),
        kind,
        lit: lit.some((range) => range[0] <= from && to <= range[1]),
      })
    }
    at += text.length
  }
  return cut
}

/** The lines in colours, once the highlighter is there: both sides are read as a whole, so that it knows where it is. */
export function useColours(lines: Line[], path: string): Map<number, Piece[]> | null {
  const [colours, setColours] = useState<Map<number, Piece[]> | null>(null)
  const language = languageOf(path)
  useEffect(() => {
    if (!language || lines.length > MOST_COLOURED) return
    let wanted = true
    void import('./code-lines').then(async ({ colouredLines }) => {
      const found = new Map<number, Piece[]>()
      for (const side of ['removed', 'added'] as const) {
        const own = [...lines.entries()].filter(([, line]) => line.kind === side || line.kind === 'same')
        const read = await colouredLines(own.map(([, line]) => line.text).join('\n'), language)
        for (const [nth, [place]] of own.entries()) if (read?.[nth]) found.set(place, read[nth])
      }
      if (wanted) setColours(found)
    })
    return () => {
      wanted = false
    }
  }, [lines, language])
  return colours
}

/** +12 −3 */
export function Churn({ added = 0, removed = 0 }: { added?: number; removed?: number }) {
  return (
    <span className="mono churn">
      <span className="churn-added">+{added}</span> <span className="churn-removed">−{removed}</span>
    </span>
  )
}
