import { Button, UnstyledButton } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { Suspense, useState } from 'react'
import { useFollowing } from '@/lib/following'
import { cost, money, tokens } from '@/lib/format'
import { apart } from '@/lib/ignored'
import { later } from '@/lib/later'
import { Churn } from '@/parts/Diff'
import { IgnoredFiles } from '@/parts/IgnoredFiles'
import { OutsideFlag } from '@/parts/RunsOutside'
import type { ChangedFile, PlanItem } from '@/protocol/types'
import type { Conversation } from '@/state/conversation'
import { daemon } from '@/state/daemon'
import { useCost } from '@/state/tree'
import { SideAgents } from './agents/SideAgents'
import { changeNotes } from './changeNotes'
import './side.css'

const ChangedFileDialog = later(() => import('./ChangedFileDialog'))

/** What goes along with the conversation: plan, changed files, agents, usage. */
export default function SidePane({
  conversation,
  rewind,
}: {
  conversation: Conversation
  rewind: (turn: number) => void
}) {
  return (
    <div className="side">
      <Plan plan={conversation.plan} />
      <Changes conversation={conversation} rewind={rewind} />
      <SideAgents info={conversation.info} section={Section} />
      <Usage conversation={conversation} />
    </div>
  )
}

/** The newest turn with changes that still stand; 0 when there is none. */
async function lastTurnThatChanged(session: string): Promise<number> {
  const review = await daemon.request('review.show', { session })
  return review.turns?.at(-1)?.turn ?? 0
}

const PLAN_MARKS: Record<NonNullable<PlanItem['state']>, string> = {
  done: '✓',
  active: '▸',
  pending: '·',
  dropped: '×',
}

function Plan({ plan }: { plan: PlanItem[] }) {
  const done = plan.filter(({ state }) => state === 'done').length
  return (
    <Section title="Plan" extra={plan.length > 0 ? `${done}/${plan.length}` : ''}>
      {plan.length === 0 ? (
        <p className="dim side-empty">The agent writes one when the work takes several steps.</p>
      ) : (
        <ol className="plan">
          {plan.map((item, index) => {
            const state = item.state ?? 'pending'
            return (
              <li key={index} className={`plan-${state}`}>
                <span className="plan-mark" role="img" aria-label={state}>
                  {PLAN_MARKS[state]}
                </span>
                {item.text}
              </li>
            )
          })}
        </ol>
      )}
    </Section>
  )
}

function Changes({ conversation, rewind }: { conversation: Conversation; rewind: (turn: number) => void }) {
  const { info, changedAt } = conversation
  const changes = useFollowing(
    ['session.changes', info.id],
    changedAt,
    () => daemon.request('session.changes', { session: info.id }),
    (info.turn_count ?? 0) > 0,
  )
  const [shown, setShown] = useState<ChangedFile | null>(null)
  const files = changes.data?.files ?? []
  const [known, ignored] = apart(files, (file) => file)
  return (
    <Section
      title="Files changed"
      extra={known.length > 0 ? String(known.length) : ''}
      action={
        files.length > 0 && (
          <>
            <Button
              size="compact-xs"
              variant="subtle"
              color="gray"
              renderRoot={(props) => (
                <Link to="/sessions/$id" params={{ id: info.id }} search={{ tab: 'review' }} {...props} />
              )}
            >
              Review
            </Button>
            <Button
              size="compact-xs"
              variant="subtle"
              color="gray"
              onClick={async () => rewind((await lastTurnThatChanged(info.id)) || info.turn_count || 1)}
            >
              Undo …
            </Button>
          </>
        )
      }
    >
      {files.length === 0 ? (
        <p className="dim side-empty">{changes.error ? changes.error.message : 'Nothing so far.'}</p>
      ) : (
        <>
          <ChangedFiles files={known} show={setShown} />
          <IgnoredFiles files={ignored}>
            <ChangedFiles files={ignored} show={setShown} />
          </IgnoredFiles>
        </>
      )}
      <Suspense>{shown && <ChangedFileDialog file={shown} close={() => setShown(null)} />}</Suspense>
    </Section>
  )
}

function ChangedFiles({ files, show }: { files: ChangedFile[]; show: (file: ChangedFile) => void }) {
  return (
    <ul className="changes">
      {files.map((file) => (
        <li key={file.path}>
          <UnstyledButton
            className="change"
            onClick={() => show(file)}
            title={[file.path, ...changeNotes(file)].join(', ')}
          >
            <span className={`mono change-${file.status}`}>{file.status}</span>
            <span className="change-path mono">
              <bdi>{file.path}</bdi>
            </span>
            <OutsideFlag reason={file.runs_outside} />
            {changeNotes(file).length > 0 && (
              <span className="dim" role="img" aria-label={changeNotes(file).join(', ')}>
                ⚑
              </span>
            )}
            <Churn added={file.added} removed={file.removed} />
          </UnstyledButton>
        </li>
      ))}
    </ul>
  )
}

function Usage({ conversation }: { conversation: Conversation }) {
  const { usage, settings, origin, turn_count: turns, message_count: messages } = conversation.info
  const input = usage?.tokens?.input_tokens ?? 0
  const cached = usage?.tokens?.cached_tokens ?? 0
  const rows: [string, string][] = [
    ['In', input > 0 ? `${tokens(input)} (${Math.round((100 * cached) / input)} % cached)` : '0'],
    ['Out', tokens(usage?.tokens?.output_tokens ?? 0)],
    ['Requests', String(usage?.requests ?? 0)],
    ['Turns', `${turns ?? 0} (${messages ?? 0} messages)`],
    ['Cost', useCost(conversation.info.id) + (settings?.budget_usd ? ` of ${money(settings.budget_usd)}` : '')],
  ]
  const there = origin?.usage
  if (origin && there?.requests)
    rows.push([`Before, with ${origin.title}`, cost(there.cost_usd ?? 0, there.unpriced ?? 0)])
  return (
    <Section title="Usage">
      <dl className="side-usage">
        {rows.map(([label, value]) => (
          <div key={label}>
            <dt>{label}</dt>
            <dd className="mono">{value}</dd>
          </div>
        ))}
      </dl>
    </Section>
  )
}

function Section(props: { title: string; extra?: string; action?: React.ReactNode; children: React.ReactNode }) {
  return (
    <section className="side-section">
      <header>
        <h2>{props.title}</h2>
        <span className="mono dim">{props.extra}</span>
        <span className="side-action">{props.action}</span>
      </header>
      {props.children}
    </section>
  )
}
