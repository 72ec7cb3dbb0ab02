import { memo, useState } from 'react'
import './diff.css'
import { linesOf } from './diff-lines'

/** More lines than this are shown on request. */
const FIRST_LINES = 400

const SIGNS = { added: '+', removed: '−', same: ' ', hunk: '' } as const

export const Diff = memo(function Diff({ patch, label }: { patch: string; label: string }) {
  const [all, setAll] = useState(false)
  const lines = linesOf(patch)
  const shown = all ? lines : lines.slice(0, FIRST_LINES)
  if (lines.length === 0) return <p className="dim diff-empty">No lines to compare.</p>
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
    <section className="diff" tabIndex={0} aria-label={label}>
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
                <td className="diff-text">{line.text}</td>
              </tr>
            ),
          )}
        </tbody>
      </table>
      {shown.length < lines.length && (
        <button type="button" className="diff-more" onClick={() => setAll(true)}>
          {lines.length - shown.length} more lines
        </button>
      )}
    </section>
  )
})

/** +12 −3 */
export function Churn({ added = 0, removed = 0 }: { added?: number; removed?: number }) {
  return (
    <span className="mono churn">
      <span className="churn-added">+{added}</span> <span className="churn-removed">−{removed}</span>
    </span>
  )
}
