import { Link } from '@tanstack/react-router'
import { useMemo, useState } from 'react'
import { useAsk } from '@/lib/ask'
import { cost, duration, modelName, tokens } from '@/lib/format'
import { Choice } from '@/parts/Choice'
import { Quiet, Section } from '@/parts/Listing'
import { Spark } from '@/parts/Spark'
import { ErrorState, LoadingRows } from '@/parts/states'
import type { AgentMetrics } from '@/protocol/types'
import { type LiveAgent, useLiveAgents } from './live'
import { MoreRows, SHOWN } from './MoreRows'
import { type Performance, performances } from './performance'

type By = 'agent' | 'template'

const MOST = 100
const TOOLS_NAMED = 3
const NOBODY: AgentMetrics[] = []

/** How fast and how surely agents work: each of those last active, or all of one template together. */
export function Agents() {
  const [by, setBy] = useState<By>('agent')
  const [all, setAll] = useState(false)
  const metrics = useAsk('metrics.agents', { limit: MOST })
  const told = metrics.data?.agents ?? NOBODY
  const live = useLiveAgents(useMemo(() => told.map(({ id }) => id), [told]))
  const rows = useMemo(
    () =>
      performances(
        told.map((agent) => live[agent.id]?.now ?? agent),
        by,
      ),
    [told, live, by],
  )
  const shown = all ? rows : rows.slice(0, SHOWN)
  return (
    <Section
      title="How agents perform"
      about="Those last active. Pace, tools and errors are those of an agent’s newest hundred messages."
      actions={
        <Choice
          label="Listed by"
          value={by}
          choose={setBy}
          choices={[
            { value: 'agent', label: 'by agent' },
            { value: 'template', label: 'by template' },
          ]}
        />
      }
    >
      {metrics.isPending ? (
        <LoadingRows count={4} height={32} />
      ) : metrics.error ? (
        <ErrorState problem={metrics.error} retry={() => void metrics.refetch()} />
      ) : rows.length === 0 ? (
        <Quiet>No agent has worked yet.</Quiet>
      ) : (
        <>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
          <section className="panel usage-panel" aria-label={`Performance by ${by}`} tabIndex={0}>
            <table className="usage-table">
              <thead>
                <tr>
                  <th scope="col">{by === 'agent' ? 'Agent' : 'Template'}</th>
                  <th scope="col" className="usage-text">
                    {by === 'agent' ? 'Model' : 'Agents'}
                  </th>
                  <th scope="col">Turns</th>
                  <th scope="col">Time to answer</th>
                  <th scope="col">Tokens/s</th>
                  {by === 'agent' && <th scope="col">Now</th>}
                  <th scope="col">Errors</th>
                  <th scope="col" className="usage-text">
                    Tools
                  </th>
                  <th scope="col">Cost</th>
                </tr>
              </thead>
              <tbody>
                {shown.map((row) => (
                  <AgentRow key={row.key} row={row} by={by} live={live[row.key]} />
                ))}
              </tbody>
            </table>
          </section>
          <MoreRows count={rows.length} all={all} setAll={setAll} />
        </>
      )}
    </Section>
  )
}

function AgentRow({ row, by, live }: { row: Performance; by: By; live?: LiveAgent }) {
  const tools = Object.entries(row.tools).sort(([, one], [, other]) => other - one)
  return (
    <tr>
      <th scope="row">
        <span className="usage-name">
          {by === 'agent' ? (
            <Link to="/sessions/$id" params={{ id: row.key }}>
              {row.name || 'Unnamed session'}
            </Link>
          ) : (
            row.name || 'without a template'
          )}
        </span>
        {by === 'agent' && (row.template || row.isSubAgent) && (
          <span className="usage-note">
            {[row.isSubAgent && 'sub-agent', row.template].filter(Boolean).join(' · ')}
          </span>
        )}
      </th>
      <td className="usage-text">{by === 'agent' ? modelName(row.model) || '–' : row.agents}</td>
      <td>{row.turns}</td>
      <td>{row.answerMs ? duration(row.answerMs) : '–'}</td>
      <td>{row.pace ? (row.pace < 10 ? row.pace.toFixed(1) : tokens(Math.round(row.pace))) : '–'}</td>
      {by === 'agent' && (
        <td title="Tokens of the last minute">
          <Spark values={live?.paces ?? []} held />
        </td>
      )}
      <td>
        <ErrorShare share={row.errorRate} failed={row.failedTurns} />
      </td>
      <td className="usage-text" title={tools.map(([name, times]) => `${name} ${times}`).join(', ')}>
        {tools
          .slice(0, TOOLS_NAMED)
          .map(([name, times]) => `${name} ${times}`)
          .join(', ') || '–'}
        {tools.length > TOOLS_NAMED && ` +${tools.length - TOOLS_NAMED}`}
      </td>
      <td>{cost(row.costUsd, row.unpriced)}</td>
    </tr>
  )
}

/** Of its turns and tool calls, in hundredths, with a bar so that a bad one is seen among many. */
function ErrorShare({ share, failed }: { share: number; failed: number }) {
  const words = failed > 0 ? `${failed} turn${failed === 1 ? '' : 's'} ended in an error` : undefined
  return (
    <span className={share > 0 ? 'bad' : undefined} title={words}>
      {Math.round(100 * share)} %
      <span className="usage-errors" aria-hidden>
        <span style={{ width: `${Math.min(100, 100 * share)}%` }} />
      </span>
    </span>
  )
}
