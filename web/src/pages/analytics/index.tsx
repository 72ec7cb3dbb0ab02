import { Button, Select } from '@mantine/core'
import { IconChartBar } from '@tabler/icons-react'
import { Suspense, useState } from 'react'
import { act, useAsk } from '@/lib/ask'
import { usePainted } from '@/lib/by-and-by'
import { download } from '@/lib/download'
import { cost, duration, leftOut, money, spend, tokens } from '@/lib/format'
import { later } from '@/lib/later'
import { useLive } from '@/lib/live'
import { Choice } from '@/parts/Choice'
import { Section } from '@/parts/Listing'
import { Page } from '@/parts/Page'
import { EmptyState, ErrorState, LoadingRows } from '@/parts/states'
import type { CostAnalysis, FailureRow, UsageRow } from '@/protocol/types'
import { useOverview } from '@/state/overview'
import { runsIt, usePeople } from '@/state/people'
import { Agents } from './Agents'
import { AllAgents } from './AllAgents'
import { ByPerson } from './ByPerson'
import { ComingCharts } from './ComingCharts'
import { type Day, daysOf, fromFirst, startOfDay } from './days'
import { UsageTable } from './UsageTable'
import './analytics.css'

const Charts = later(() => import('./Charts'), true)

const PERIODS = [
  { value: '7', label: '7 days' },
  { value: '30', label: '30 days' },
  { value: '90', label: '90 days' },
]

type By = 'model' | 'session' | 'activity'

/** One page that needs no other, to be read and passed on. */
async function takeReport() {
  const made = await act('report.show', { period: 'week', format: 'html' })
  if (made) download('openagent-week.html', made.text, 'text/html')
}

export default function Analytics() {
  const [length, setLength] = useState('30')
  const runs = usePeople(runsIt)
  const since = startOfDay(Number(length) - 1)
  useLive(['turn.completed'], 'usage.report', 'usage.failures', 'metrics.cost', 'metrics.agents')
  const byDay = useAsk('usage.report', { by: 'day', since })
  const failures = useAsk('usage.failures', { since })
  // Today and what is to come: the daemon's figures, the same in every client.
  const spent = useAsk('metrics.cost', { days: 1 })
  const total = byDay.data?.total
  // All of them together: what came later would push down what is there.
  const pending = byDay.isPending || failures.isPending || spent.isPending
  return (
    <Page
      title="Analytics"
      wide
      actions={
        <>
          <Button size="xs" variant="default" onClick={() => void takeReport()}>
            Report of this week
          </Button>
          <Choice label="How far back" value={length} choose={setLength} choices={PERIODS} />
        </>
      }
    >
      {pending ? (
        <LoadingRows count={3} height={160} />
      ) : byDay.error || failures.error ? (
        <ErrorState
          problem={byDay.error ?? failures.error}
          retry={() => void Promise.all([byDay.refetch(), failures.refetch()])}
        />
      ) : total?.requests === 0 && failures.data.rows.length === 0 ? (
        <EmptyState icon={<IconChartBar size={24} />} title="Nothing was used yet">
          What models cost, how fast they answer and how often they fail shows here with the first message of a session.
        </EmptyState>
      ) : (
        <>
          <Figures spent={spent.data} total={byDay.data.total} failures={failures.data.rows} />
          <ChartsOverDays
            unpriced={byDay.data.total.unpriced ?? 0}
            days={fromFirst(daysOf(byDay.data.rows, failures.data.rows, Number(length)))}
          />
          <Breakdown since={since} />
          {runs && <ByPerson />}
          <Agents />
        </>
      )}
      {!pending && <AllAgents />}
    </Page>
  )
}

/** The charts are the heaviest of the page: they are fetched when the figures are in sight. */
function ChartsOverDays(props: { unpriced: number; days: Day[] }) {
  const coming = <ComingCharts count={5} />
  return usePainted() ? (
    <Suspense fallback={coming}>
      <Charts {...props} />
    </Suspense>
  ) : (
    coming
  )
}

function Figures(props: { spent: CostAnalysis | undefined; total: UsageRow; failures: FailureRow[] }) {
  const { spent, total, failures } = props
  const failed = failures.reduce((sum, row) => sum + (row.failed ?? 0), 0)
  const retried = failures.reduce((sum, row) => sum + (row.retried ?? 0), 0)
  const usage = total.usage
  return (
    <dl className="figures-grid">
      <Figure
        label="Cost"
        value={cost(total.cost_usd, total.unpriced ?? 0)}
        note={
          total.unpriced ? `price unknown for ${total.unpriced} of ${total.requests}` : `${total.requests} requests`
        }
      />
      <Figure
        label="Today"
        value={spent ? spend(spent.today_usd, spent.unpriced_today ?? 0, spent.tokens_today ?? 0) : '–'}
        note={spent ? leftOut(spent.unpriced_today ?? 0) || `${money(spent.projected_today_usd)} by midnight` : ''}
      />
      <Figure
        label="This month, projected"
        value={spent ? cost(spent.projected_month_usd, spent.unpriced_month ?? 0) : '–'}
        note={leftOut(spent?.unpriced_month ?? 0) || 'at the rate of 7 days'}
      />
      <Figure
        label="Tokens"
        value={tokens((usage.input_tokens ?? 0) + (usage.output_tokens ?? 0))}
        note={`${tokens(usage.input_tokens ?? 0)} in · ${tokens(usage.output_tokens ?? 0)} out`}
      />
      <Figure
        label="Read from cache"
        value={`${Math.round(total.cached_percent ?? 0)} %`}
        note={`${tokens(usage.cached_tokens ?? 0)} of ${tokens(usage.input_tokens ?? 0)} sent`}
      />
      <Figure
        label="Time to answer"
        value={total.latency_ms ? duration(total.latency_ms) : '–'}
        note={total.slow_latency_ms ? `95 % within ${duration(total.slow_latency_ms)}` : 'not measured'}
      />
      <Figure label="Errors" value={String(failed)} note={`${retried} tried again`} bad={failed > 0} />
    </dl>
  )
}

function Figure({ label, value, note, bad = false }: { label: string; value: string; note: string; bad?: boolean }) {
  return (
    <div className="figure panel">
      <dt>{label}</dt>
      <dd className={bad ? 'mono figure-value bad' : 'mono figure-value'}>{value}</dd>
      <dd className="figure-note">{note}</dd>
    </div>
  )
}

function Breakdown({ since }: { since: number }) {
  const [by, setBy] = useState<By>('model')
  const report = useAsk('usage.report', { by, since })
  const cards = useOverview((state) => state.cards)
  const nameOf = (key: string) => (by === 'session' ? cards[key]?.info.name || key.slice(0, 8) : key)
  return (
    <Section
      title="Where it went"
      actions={
        <Select
          size="xs"
          w={140}
          aria-label="Grouped by"
          allowDeselect={false}
          value={by}
          onChange={(value) => setBy((value ?? 'model') as By)}
          data={[
            { value: 'model', label: 'by model' },
            { value: 'session', label: 'by session' },
            { value: 'activity', label: 'by activity' },
          ]}
        />
      }
    >
      {report.isPending ? (
        <LoadingRows count={4} height={32} />
      ) : report.error ? (
        <ErrorState problem={report.error} retry={() => void report.refetch()} />
      ) : (
        <UsageTable key={by} label={`Usage by ${by}`} by={by} rows={report.data.rows} nameOf={nameOf} timed />
      )}
    </Section>
  )
}
