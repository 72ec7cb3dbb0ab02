import { Button } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { memo, useEffect } from 'react'
import { act } from '@/lib/ask'
import { answering, duration, firstLine, folderName, lastLine, modelName, money } from '@/lib/format'
import { useNow } from '@/lib/time'
import { Ago } from '@/parts/Ago'
import { ContextMeter } from '@/parts/Meter'
import { Spark } from '@/parts/Spark'
import { StatusMark, statusWords } from '@/parts/StatusMark'
import type { Message, PermissionAsk, SessionInfo } from '@/protocol/types'
import { isRunning } from '@/state/conversation'
import { daemon } from '@/state/daemon'
import type { Card } from '@/state/overview'

export const SessionCard = memo(function SessionCard({ card, agents }: { card: Card; agents: Card[] }) {
  const { info } = card
  const name = info.name || 'Unnamed session'
  return (
    <li className={`card panel card-${info.status ?? 'idle'}`}>
      <div className="card-head">
        <StatusMark status={info.status} />
        <Link to="/sessions/$id" params={{ id: info.id }} className="card-name cut" title={name}>
          {name}
        </Link>
        <span className="dim card-age">
          {card.turnStartedAt ? <Running since={card.turnStartedAt} /> : <Ago at={info.updated_at} />}
        </span>
      </div>
      <div className="card-place cut dim" title={`${info.cwd} · ${answering(info)}`}>
        {folderName(info.cwd)} · {modelName(answering(info)) || 'no model'}
        {agents.length > 0 && ` · ${agentWords(agents)}`}
      </div>
      {info.status === 'waiting_approval' ? <Waiting card={card} /> : <LastLine card={card} />}
      <div className="card-foot">
        <Spark values={card.pulse} />
        <ContextMeter usage={info.usage} />
        <span className="mono card-cost">{money(info.usage?.cost_usd ?? 0)}</span>
      </div>
    </li>
  )
})

function Running({ since }: { since: number }) {
  const now = useNow(1000)
  return <span className="mono">{duration(Math.max(0, Math.floor(now - since)) * 1000).replace('.0 s', ' s')}</span>
}

function agentWords(agents: Card[]): string {
  const busy = agents.filter(({ info }) => isRunning(info)).length
  const total = `${agents.length} agent${agents.length === 1 ? '' : 's'}`
  return busy > 0 ? `${total}, ${busy} at work` : total
}

/** What it waits for: the open session knows, also of what was asked before this page came. */
function Waiting({ card }: { card: Card }) {
  const { id } = card.info
  useEffect(() => daemon.look(id), [id])
  const conversation = daemon.session(id)((state) => state.conversation)
  const asks = conversation?.permissions ?? card.asks
  const question = (conversation?.questions ?? card.questions)[0]
  if (asks[0]) return <Ask session={id} ask={asks[0]} more={asks.length - 1} />
  return <p className="card-line card-question">{question ? firstLine(question.text) : 'waiting for you …'}</p>
}

function Ask({ session, ask, more }: { session: string; ask: PermissionAsk; more: number }) {
  const answer = (decision: 'allow' | 'deny') => void act('permission.answer', { session, ask: ask.id, decision })
  return (
    <div className="card-ask">
      <code className="cut" title={ask.summary}>
        {firstLine(ask.summary)}
      </code>
      <div className="card-buttons">
        <Button size="compact-xs" onClick={() => answer('allow')}>
          Approve
        </Button>
        <Button size="compact-xs" variant="default" onClick={() => answer('deny')}>
          Deny
        </Button>
        <span className="dim">
          {ask.risk ?? 'medium'} risk{more > 0 && `, ${more} more`}
        </span>
      </div>
    </div>
  )
}

function LastLine({ card }: { card: Card }) {
  const { info } = card
  const said = useLastSaid(info, !card.line && !isRunning(info))
  if (isRunning(info))
    return <p className="card-line cut">{card.line ? `${card.line} …` : `${statusWords[info.status ?? 'idle']} …`}</p>
  return <p className="card-line">{lastLine(card.line) || said || <span className="dim">Nothing said yet.</span>}</p>
}

/** The end of the newest message, for a session that has not spoken since this page opened. */
function useLastSaid(info: SessionInfo, wanted: boolean): string {
  const count = info.message_count ?? 0
  const { data } = useQuery({
    queryKey: ['last-said', info.id, count],
    queryFn: () => daemon.request('messages.page', { session: info.id, limit: 1 }),
    enabled: wanted && count > 0,
    staleTime: Number.POSITIVE_INFINITY,
  })
  return data ? data.messages.map(lineOf).join('') : ''
}

function lineOf(message: Message): string {
  for (const part of [...message.parts].reverse()) {
    if (part.type === 'text' && part.text.trim()) return lastLine(part.text)
    if (part.type === 'tool_call' || part.type === 'tool_result') return part.name
  }
  return ''
}
