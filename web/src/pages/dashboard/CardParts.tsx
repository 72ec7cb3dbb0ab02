import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { answering, duration, folderName } from '@/lib/format'
import { useNow } from '@/lib/time'
import { Ago } from '@/parts/Ago'
import { Owner } from '@/parts/Avatar'
import { ContextMeter } from '@/parts/Meter'
import { Spark } from '@/parts/Spark'
import { StatusMark } from '@/parts/StatusMark'
import type { MessagePage, SessionInfo } from '@/protocol/types'
import { isRunning } from '@/state/conversation'
import { daemon } from '@/state/daemon'
import type { Card } from '@/state/overview'
import { useCost } from '@/state/tree'

/** Which session it is, and how long it works or since when it rests. */
export function Head({ card }: { card: Card }) {
  const { info } = card
  const name = info.name || 'Unnamed session'
  return (
    <div className="card-head">
      <StatusMark status={info.status} />
      <Link to="/sessions/$id" params={{ id: info.id }} className="card-name cut" title={name}>
        {name}
      </Link>
      <Owner info={info} />
      <span className="dim card-age">
        {card.turnStartedAt ? <Running since={card.turnStartedAt} /> : <Ago at={info.updated_at} />}
      </span>
    </div>
  )
}

/** Where it works, what answers, and who works for it. */
export function Place({ card, agents }: { card: Card; agents: Card[] }) {
  const { info } = card
  return (
    <div className="card-place cut dim" title={`${info.cwd} · ${answering(info)}`}>
      {folderName(info.cwd)} · {answering(info) || 'no model'}
      {agents.length > 0 && ` · ${agentWords(agents)}`}
    </div>
  )
}

export function Foot({ card }: { card: Card }) {
  return (
    <div className="card-foot">
      <Spark values={card.pulse} />
      <ContextMeter usage={card.info.usage} />
      <span className="mono card-cost">{useCost(card.info.id)}</span>
    </div>
  )
}

function Running({ since }: { since: number }) {
  const now = useNow(1000)
  return <span className="mono">{duration(Math.max(0, Math.floor(now - since)) * 1000).replace('.0 s', ' s')}</span>
}

function agentWords(agents: Card[]): string {
  const busy = agents.filter(({ info }) => isRunning(info)).length
  const total = `${agents.length} agent${agents.length === 1 ? '' : 's'}`
  return busy > 0 ? `${total}, ${busy} at work` : total
}

/** The newest message and how its turn ended, for a session that has not spoken since this page opened. */
export function useNewest(info: SessionInfo, wanted = true): MessagePage | undefined {
  return useQuery({
    queryKey: ['last-said', info.id, info.seq],
    queryFn: () => daemon.request('messages.page', { session: info.id, limit: 1 }),
    enabled: wanted && (info.turn_count ?? 0) > 0,
    staleTime: Number.POSITIVE_INFINITY,
  }).data
}
