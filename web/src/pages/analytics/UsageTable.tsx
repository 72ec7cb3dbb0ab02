import { useState } from 'react'
import { cost, duration, modelName, tokens } from '@/lib/format'
import type { UsageRow } from '@/protocol/types'
import { MoreRows, SHOWN } from './MoreRows'

interface Props {
  /** For those who do not see it. */
  label: string
  /** What each row is one of. */
  by: string
  rows: UsageRow[]
  /** What a row is called; without it, by its key. */
  nameOf?: (key: string) => string
  /** With how long an answer took. */
  timed?: boolean
}

/** Requests, tokens and cost, row by row, with a bar that compares the costs. */
export function UsageTable({ label, by, rows, nameOf, timed = false }: Props) {
  const [all, setAll] = useState(false)
  const most = Math.max(...rows.map((row) => row.cost_usd), 0)
  const named = (key: string) => (by === 'model' ? modelName(key) || key : (nameOf?.(key) ?? key))
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
      <section className="panel usage-panel" aria-label={label} tabIndex={0}>
        <table className="usage-table">
          <thead>
            <tr>
              <th scope="col">{by[0]?.toUpperCase() + by.slice(1)}</th>
              <th scope="col">Requests</th>
              <th scope="col">In</th>
              <th scope="col">Out</th>
              <th scope="col">Cached</th>
              {timed && <th scope="col">Median</th>}
              <th scope="col">Cost</th>
            </tr>
          </thead>
          <tbody>
            {(all ? rows : rows.slice(0, SHOWN)).map((row) => (
              <tr key={row.key}>
                <th scope="row" title={row.key}>
                  <span className="usage-name">{named(row.key)}</span>
                  <span className="usage-bar" aria-hidden>
                    <span style={{ width: `${most > 0 ? (100 * row.cost_usd) / most : 0}%` }} />
                  </span>
                </th>
                <td>{row.requests.toLocaleString('en-GB')}</td>
                <td>{tokens(row.usage.input_tokens ?? 0)}</td>
                <td>{tokens(row.usage.output_tokens ?? 0)}</td>
                <td>{Math.round(row.cached_percent ?? 0)} %</td>
                {timed && <td>{row.latency_ms ? duration(row.latency_ms) : '–'}</td>}
                <td>
                  <span title={row.unpriced ? 'Some prices are not known' : undefined}>
                    {cost(row.cost_usd, row.unpriced ?? 0)}
                  </span>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </section>
      <MoreRows count={rows.length} all={all} setAll={setAll} />
    </>
  )
}
