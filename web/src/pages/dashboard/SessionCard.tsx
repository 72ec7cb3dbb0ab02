import { Checkbox } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { memo } from 'react'
import { lastLine } from '@/lib/format'
import { apart, churnOf, filesWords, ignoredWords } from '@/lib/ignored'
import { plainWords } from '@/lib/plain'
import { wordsForEnd } from '@/lib/turn-words'
import { doingWords } from '@/pages/session/agents/views'
import { doingCall } from '@/pages/session/tool-words'
import { Churn } from '@/parts/Diff'
import type { Message, MessagePage } from '@/protocol/types'
import { isRunning } from '@/state/conversation'
import { daemon } from '@/state/daemon'
import type { Card } from '@/state/overview'
import { Foot, Head, Place, useNewest } from './CardParts'

interface Props {
  card: Card
  agents: Card[]
  /** Ended since the person looked: with what it changed. */
  news?: boolean
  /** Whether it is chosen, while sessions are being chosen. */
  chosen?: boolean
  choose?: (id: string) => void
}

export const SessionCard = memo(function SessionCard({ card, agents, news, chosen, choose }: Props) {
  const { info } = card
  return (
    <li className={`card panel card-${info.status ?? 'idle'}${chosen ? ' card-chosen' : ''}`}>
      {choose && (
        <Checkbox
          size="xs"
          className="card-choice"
          aria-label={`Choose ${info.name || 'the unnamed session'}`}
          checked={chosen ?? false}
          onChange={() => choose(info.id)}
        />
      )}
      <Head card={card} />
      <Place card={card} agents={agents} />
      <LastLine card={card} />
      {news && <Changed card={card} />}
      <Foot card={card} />
    </li>
  )
})

/** What it does now, or what it said last: in words, without their marks. */
function LastLine({ card }: { card: Card }) {
  const { info } = card
  const page = useNewest(info, !card.line || info.status === 'error')
  if (isRunning(info)) {
    const called = card.line || info.status !== 'executing_tool' ? '' : callIn(page)
    return <p className="card-line cut">{called || doingWords(card.line, info.status)} …</p>
  }
  const end = info.status === 'error' ? page?.turns?.at(-1) : undefined
  if (end) return <p className="card-line card-bad">{wordsForEnd(end).text}</p>
  const said = lastLine(plainWords(card.line)) || (page ? page.messages.map(lineOf).join('') : '')
  return <p className="card-line">{said || <span className="dim">Nothing said yet.</span>}</p>
}

/** What a session does that began with it before this page was opened. */
function callIn(page: MessagePage | undefined): string {
  const call = page?.messages.at(-1)?.parts.find((part) => part.type === 'tool_call')
  return call ? doingCall(call) : ''
}

/** What the session changed, and the way to look through it. */
function Changed({ card }: { card: Card }) {
  const { id, seq } = card.info
  const { data, isPending } = useQuery({
    queryKey: ['session.changes', id, seq],
    queryFn: () => daemon.request('session.changes', { session: id }),
    staleTime: Number.POSITIVE_INFINITY,
  })
  const files = data?.files ?? []
  if (files.length === 0) return isPending ? <div className="card-changed" /> : null
  const [known, ignored] = apart(files, (file) => file)
  return (
    <div className="card-changed">
      {known.length > 0 && (
        <>
          <span className="card-changed-path">
            <bdi>{known.length === 1 ? known[0]?.path : filesWords(known.length)}</bdi>
          </span>
          <Churn {...churnOf(known)} />
        </>
      )}
      {ignored.length > 0 && <span className="dim">{ignoredWords(ignored.length)}</span>}
      <Link to="/sessions/$id" params={{ id }} search={{ tab: 'review' } as object} className="card-review">
        Review
      </Link>
    </div>
  )
}

function lineOf(message: Message): string {
  for (const part of [...message.parts].reverse()) {
    if (part.type === 'text' && part.text.trim()) return lastLine(plainWords(part.text))
    if (part.type === 'tool_call' || part.type === 'tool_result') return part.name
  }
  return ''
}
