import { Button } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { useEffect } from 'react'
import { wordsForEnd } from '@/lib/turn-words'
import { Asked } from '@/pages/session/asks/Asked'
import { Lapsed } from '@/pages/session/asks/Lapsed'
import { Permission } from '@/pages/session/asks/Permission'
import { isWaiting, look } from '@/state/attention'
import { daemon } from '@/state/daemon'
import { say } from '@/state/outbox'
import type { Card } from '@/state/overview'
import { Foot, Head, Place, useNewest } from './CardParts'

/** A session that goes on only when the person has acted: with all that is needed for that. */
export function NeedCard({ card, agents }: { card: Card; agents: Card[] }) {
  return (
    <li className={`need panel card-${card.info.status}`}>
      <Head card={card} />
      <Place card={card} agents={agents} />
      {isWaiting(card) ? <Waiting card={card} /> : <Ended card={card} />}
      <Foot card={card} />
    </li>
  )
}

/** What it waits for: the open session knows, also of what was asked before this page came. */
function Waiting({ card }: { card: Card }) {
  const { id, cwd } = card.info
  useEffect(() => daemon.look(id), [id])
  const conversation = daemon.session(id)((state) => state.conversation)
  const asks = conversation?.permissions ?? card.asks
  const questions = conversation?.questions ?? card.questions
  const place = { session: id, cwd, keys: 'own' as const }
  if (asks[0]) return <Permission key={asks[0].id} ask={asks[0]} behind={asks.length - 1} {...place} />
  if (questions[0])
    return <Asked key={questions[0].id} question={questions[0]} behind={questions.length - 1} {...place} />
  return <p className="card-line dim">Waiting for you …</p>
}

function Ended({ card }: { card: Card }) {
  return card.info.status === 'unanswered' ? <Unanswered card={card} /> : <Failed card={card} />
}

/** What nobody answered in time: the open session knows. */
function Unanswered({ card }: { card: Card }) {
  const { id } = card.info
  useEffect(() => daemon.look(id), [id])
  const lapsed = daemon.session(id)((state) => state.conversation)?.lapsed ?? []
  if (lapsed.length > 0) return <Lapsed session={id} lapsed={lapsed} />
  return <p className="card-line dim">Nobody answered in time …</p>
}

/** Why it failed, in a sentence, and the one thing to do about it. */
function Failed({ card }: { card: Card }) {
  const { info } = card
  const end = useNewest(info)?.turns?.at(-1)
  const { text, next } = end ? wordsForEnd(end) : { text: card.line || 'Failed.', next: '' }
  const ofKeys = /^auth|key|login/.test(end?.error?.code ?? '')
  return (
    <div className="need-failed">
      <p className="need-why">{text}</p>
      {next && <p className="dim need-next">{next}</p>}
      <div className="card-buttons">
        {ofKeys ? (
          <Button size="xs" component={Link} to="/auth">
            Look at keys and logins
          </Button>
        ) : (
          <Button size="xs" onClick={() => say(info.id, 'Go on.')}>
            {end?.reason === 'interrupted' ? 'Go on' : 'Try again'}
          </Button>
        )}
        <Button size="xs" variant="subtle" color="gray" onClick={() => look(info.id, info.updated_at)}>
          Seen
        </Button>
      </div>
    </div>
  )
}
