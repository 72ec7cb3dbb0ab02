import { Button } from '@mantine/core'
import { IconPlayerPlay, IconPlayerStop } from '@tabler/icons-react'
import { useState } from 'react'
import { act, useAsk } from '@/lib/ask'
import { duration, money, tokens } from '@/lib/format'
import { useLive, useRenew } from '@/lib/live'
import { useNow } from '@/lib/time'
import { FlowDrawing, STEP_WORDS } from '@/parts/flow/FlowDrawing'
import { Chip, type Tone } from '@/parts/Listing'
import { Markdown } from '@/parts/Markdown'
import { ErrorState, LoadingRows } from '@/parts/states'
import type { FlowReport, FlowStepReport, SessionInfo } from '@/protocol/types'
import { useCost } from '@/state/tree'
import { AgentLine } from '../agents/AgentLine'
import { useAgentViews, useTree } from '../agents/use-agents'
import './flow-run.css'

const STATES: Record<FlowReport['state'], [string, Tone]> = {
  running: ['at work', 'accent'],
  done: ['done', 'good'],
  failed: ['failed', 'bad'],
  cancelled: ['stopped', 'warn'],
  interrupted: ['interrupted: the daemon stopped in the middle of it', 'warn'],
}

/** The flow that a session runs: drawn, step by step as it goes, and to be read when it is done. */
export default function FlowRun({ info }: { info: SessionInfo }) {
  useLive(['flow.started', 'flow.step', 'flow.finished', 'subagent.started', 'subagent.finished'], 'flow.show')
  const shown = useAsk('flow.show', { session: info.id })
  const renew = useRenew('flow.show')
  const spent = useCost(info.id)
  const [busy, setBusy] = useState(false)
  const [chosen, setChosen] = useState('')
  if (shown.isPending) return <LoadingRows count={4} height={72} />
  if (shown.error) return <ErrorState problem={shown.error} retry={() => void shown.refetch()} />
  const report = shown.data
  const [word, tone] = STATES[report.state]
  const press = async (op: 'turn.cancel' | 'flow.resume') => {
    setBusy(true)
    await act(op, { session: info.id })
    await renew()
    setBusy(false)
  }
  const result = report.state === 'done' ? report.steps.findLast(({ text }) => text) : undefined
  return (
    <div className="flow-run">
      <header className="flow-run-head">
        <h2>{report.name}</h2>
        <Chip tone={tone}>{word}</Chip>
        <span className="flow-run-figures mono dim">
          <Took from={report.started_at} to={report.ended_at} running={report.state === 'running'} />
          <span>{tokens(report.tokens ?? 0)} tokens</span>
          <span>{spent}</span>
        </span>
        {report.state === 'running' ? (
          <Button
            size="compact-sm"
            variant="default"
            loading={busy}
            leftSection={<IconPlayerStop size={14} />}
            onClick={() => void press('turn.cancel')}
            title="What is done stays done: it can go on from there"
          >
            Pause
          </Button>
        ) : (
          report.state !== 'done' && (
            <Button
              size="compact-sm"
              loading={busy}
              leftSection={<IconPlayerPlay size={14} />}
              onClick={() => void press('flow.resume')}
              title="After the last step that is done"
            >
              Go on
            </Button>
          )
        )}
      </header>
      {report.flow?.description && <p className="dim flow-run-about">{report.flow.description}</p>}
      <Inputs inputs={report.inputs ?? {}} />
      {report.error && (
        <p className="note note-bad" role="alert">
          {report.error.message}
        </p>
      )}
      {report.flow && (
        <FlowDrawing flow={report.flow} reports={report.steps} chosen={chosen} choose={(step) => setChosen(step)} />
      )}
      {result && (
        <section className="flow-result panel" aria-label="Result">
          <h3>Result</h3>
          <Markdown text={result.text ?? ''} />
        </section>
      )}
      <ol className="flow-steps" aria-label="Steps">
        {report.steps.map((step) => (
          <Step key={step.name} session={info.id} step={step} chosen={chosen === step.name} shown={step === result} />
        ))}
      </ol>
    </div>
  )
}

function Inputs({ inputs }: { inputs: Record<string, string> }) {
  const given = Object.entries(inputs)
  if (given.length === 0) return null
  return (
    <dl className="flow-inputs">
      {given.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  )
}

/** One step: how it is doing, who works in it, and what they said. What the result shows already is not shown twice. */
function Step(props: { session: string; step: FlowStepReport; chosen: boolean; shown: boolean }) {
  const { session, step, chosen, shown } = props
  const state = step.state ?? 'waiting'
  const members = useTree(session)
  const views = useAgentViews(session, step.agents ?? [], members)
  const [opened, setOpened] = useState<boolean | null>(null)
  const open = chosen || (opened ?? state === 'failed')
  return (
    <li className={`flow-run-step panel flow-${state}`}>
      <div className="flow-run-line">
        <strong>{step.name}</strong>
        <span className={`flow-mark-${state}`}>{STEP_WORDS[state]}</span>
        {(step.rounds ?? 0) > 1 && <span className="dim">{step.rounds} rounds</span>}
        <span className="flow-run-figures mono dim">
          <Took from={step.started_at} to={step.ended_at} running={state === 'running'} />
          {(step.cost_usd ?? 0) > 0 && <span>{money(step.cost_usd ?? 0)}</span>}
        </span>
        {step.text && !shown && (
          <Button size="compact-xs" variant="subtle" color="gray" aria-expanded={open} onClick={() => setOpened(!open)}>
            {open ? 'Fold' : 'What was said'}
            <span className="visually-hidden"> in {step.name}</span>
          </Button>
        )}
      </div>
      {views.length > 0 && (
        <ul className="agent-list" aria-label={`Agents of ${step.name}`}>
          {views.map((view) => (
            <li key={view.id}>
              <AgentLine agent={view} />
            </li>
          ))}
        </ul>
      )}
      {open && step.text && !shown && (
        <div className="flow-run-text">
          <Markdown text={step.text} />
        </div>
      )}
    </li>
  )
}

function Took({ from = 0, to = 0, running }: { from?: number; to?: number; running: boolean }) {
  const now = useNow(1000, running)
  if (!from) return null
  const end = running ? Math.max(from, now) : to
  return end ? (
    <time>{duration(1000 * (running ? Math.floor(end - from) : end - from)).replace('.0 s', ' s')}</time>
  ) : null
}
