import { Select } from '@mantine/core'
import { keepPreviousData } from '@tanstack/react-query'
import { Link, useLocation } from '@tanstack/react-router'
import { Suspense, useEffect, useRef, useState } from 'react'
import { useAsk } from '@/lib/ask'
import { bytes, cost, folderName } from '@/lib/format'
import { later } from '@/lib/later'
import { useLive } from '@/lib/live'
import { Choice } from '@/parts/Choice'
import { Reading } from '@/parts/history/Reading'
import { COSTS_PLACE, OTHER_AGENTS } from '@/parts/history/ways'
import { Quiet, Section } from '@/parts/Listing'
import { ErrorState, LoadingRows } from '@/parts/states'
import type { AllUsage } from '@/protocol/types'
import { ComingCharts } from './ComingCharts'
import { startOfDay } from './days'
import { UsageTable } from './UsageTable'

const AgentCharts = later(() => import('./AgentCharts'))

const PERIODS = [
  { value: '30', label: '30 days' },
  { value: '90', label: '90 days' },
  { value: 'all', label: 'all time' },
]

/** In seconds: who has never looked has much to count, and sees what is counted by then. */
const PATIENCE = 1
/** In milliseconds: how often it is asked again until all is counted. */
const LOOK_AGAIN = 2000

type By = 'agent' | 'model' | 'project' | 'time'

/** What Claude Code, codex and the others cost beside OpenAgent, whether their sessions were brought or not. */
export function AllAgents() {
  const [length, setLength] = useState('all')
  const whole = length === 'all'
  const since = whole ? 0 : startOfDay(Number(length) - 1)
  const used = useAsk(
    'usage.all',
    { by: whole ? 'month' : 'day', since, patience: PATIENCE },
    { refetchInterval: ({ state }) => (state.data?.unread ? LOOK_AGAIN : false), placeholderData: keepPreviousData },
  )
  const unread = used.data?.unread ?? 0
  useLive(['history.imported'], 'usage.all')
  return (
    <div id={COSTS_PLACE} ref={useArrival()} className="all-agents">
      <Section
        title="All agents"
        about="Claude Code, codex, gemini-cli, opencode, aider and goose on the daemon’s machine beside OpenAgent, by what the token costs; a subscription is not known."
        actions={<Choice label="How far back, all agents" value={length} choose={setLength} choices={PERIODS} />}
      >
        {unread > 0 && (
          <p className="dim" role="status">
            {bytes(unread)} of other agents’ files are still being counted: the figures grow until then.
          </p>
        )}
        {used.isPending ? (
          <Reading />
        ) : used.error ? (
          <ErrorState problem={used.error} retry={() => void used.refetch()} />
        ) : used.data.total.requests === 0 && unread === 0 ? (
          <Quiet>No agent on this machine used anything {whole ? 'that it kept' : 'in this time'}.</Quiet>
        ) : (
          <>
            <Suspense fallback={<ComingCharts count={2} />}>
              <AgentCharts used={used.data} />
            </Suspense>
            <Where used={used.data} since={since} />
          </>
        )}
      </Section>
    </div>
  )
}

/** Who came for this goes to it, past what stands above. */
function useArrival() {
  const here = useRef<HTMLDivElement>(null)
  const { hash } = useLocation()
  useEffect(() => {
    if (hash === COSTS_PLACE) here.current?.scrollIntoView()
  }, [hash])
  return here
}

function Where({ used, since }: { used: AllUsage; since: number }) {
  const [by, setBy] = useState<By>('agent')
  const asked = useAsk(
    'usage.all',
    { by: by === 'project' ? 'project' : 'model', since, patience: PATIENCE },
    { enabled: by === 'model' || by === 'project' },
  )
  const rows = by === 'agent' ? used.agents : by === 'time' ? [...used.rows].reverse() : asked.data?.rows
  const left = used.left_out?.length ?? 0
  return (
    <>
      <div className="all-agents-by">
        <h3>
          <span className="mono">{cost(used.total.cost_usd, used.total.unpriced ?? 0)}</span> for{' '}
          {used.total.requests.toLocaleString('en-GB')} requests
        </h3>
        {left > 0 && (
          <Link to={OTHER_AGENTS} className="dim">
            {left === 1 ? 'One file was left out' : `${left} files were left out`}
          </Link>
        )}
        <Select
          size="xs"
          w={140}
          aria-label="All agents, summed up by"
          allowDeselect={false}
          value={by}
          onChange={(value) => setBy((value ?? 'agent') as By)}
          data={[
            { value: 'agent', label: 'by agent' },
            { value: 'model', label: 'by model' },
            { value: 'project', label: 'by project' },
            { value: 'time', label: `by ${used.by}` },
          ]}
        />
      </div>
      {!rows ? (
        asked.error ? (
          <ErrorState problem={asked.error} retry={() => void asked.refetch()} />
        ) : (
          <LoadingRows count={4} height={32} />
        )
      ) : (
        <UsageTable
          key={by}
          label={`All agents by ${by === 'time' ? used.by : by}`}
          by={by === 'time' ? used.by : by}
          rows={rows}
          nameOf={by === 'project' ? folderName : undefined}
        />
      )}
    </>
  )
}
