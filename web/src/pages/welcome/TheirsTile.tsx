import { IconHistory } from '@tabler/icons-react'
import { Link, useNavigate } from '@tanstack/react-router'
import { useAsk } from '@/lib/ask'
import { cost } from '@/lib/format'
import { useLive } from '@/lib/live'
import { bring, sessionsWords, useBringing, whoseWords } from '@/parts/history/bringing'
import { Reading } from '@/parts/history/Reading'
import { COSTS, COSTS_PLACE, OTHER_AGENTS } from '@/parts/history/ways'
import type { FoundHistory } from '@/protocol/types'
import { Tile } from './Tile'

/** The one thing that needs no model: what other agents left here, and what it cost. */
export function TheirsTile({ found }: { found: FoundHistory }) {
  const navigate = useNavigate()
  const { whose, problem } = useBringing()
  useLive(['history.imported'], 'history.find')
  const { agents, fresh = 0, sessions = 0 } = found
  const isHere = fresh === 0
  return (
    <Tile
      icon={<IconHistory size={18} />}
      title={isHere ? `${sessionsWords(sessions)} of other agents` : 'Bring your sessions'}
      mark={isHere ? 'here' : 'no key needed'}
      note={
        <>
          {whoseWords(agents)}.{' '}
          {isHere ? <Spent /> : 'Searched, counted and continued here; nothing of theirs is changed.'}
        </>
      }
      problem={problem}
      action={
        isHere
          ? { label: 'Look at them', run: () => void navigate({ to: OTHER_AGENTS }) }
          : {
              label: 'Bring them',
              hidden: `${sessionsWords(fresh)} of other agents`,
              run: () => void bring('all'),
              busy: whose !== null,
            }
      }
      wide
    >
      {whose !== null && <Reading />}
    </Tile>
  )
}

function Spent() {
  const used = useAsk('usage.all', { by: 'agent', patience: 1 })
  const total = used.data?.total
  if (!total) return null
  return (
    <>
      By the token,{' '}
      <Link to={COSTS} hash={COSTS_PLACE}>
        all of it cost {cost(total.cost_usd, total.unpriced ?? 0)}
      </Link>
      .
    </>
  )
}
