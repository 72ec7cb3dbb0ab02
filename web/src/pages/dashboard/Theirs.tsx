import { useDebouncedValue } from '@mantine/hooks'
import { Link } from '@tanstack/react-router'
import { useMemo } from 'react'
import { useLive } from '@/lib/live'
import { useBroughtCounts, useBroughtSessions } from '@/parts/history/brought-sessions'
import { OTHER_AGENTS } from '@/parts/history/ways'
import { isBrought } from '@/state/attention'
import { type Card, useOverview } from '@/state/overview'
import { TheirCard } from './TheirCard'

const SHOWN = 6
const SETTLED = 150

/** Sessions of other agents: some of those last active, apart from what anybody works on here. */
export function Theirs({ query }: { query: string }) {
  const { total } = useBroughtCounts()
  const [settled] = useDebouncedValue(query.trim(), SETTLED)
  const found = useBroughtSessions('', settled, SHOWN)
  const cards = useOverview((state) => state.cards)
  useLive(['history.imported'], 'session.list')
  // One that goes on here stands among the others by now.
  const shown = useMemo(
    () => found.data?.pages.flatMap(({ sessions }) => sessions).filter(({ id }) => !hasGoneOn(cards[id])) ?? [],
    [found.data, cards],
  )
  if (total === 0 || shown.length === 0) return null
  return (
    <section className="group" aria-label="Brought from other agents">
      <h2 className="group-head">
        Brought from other agents <span className="mono dim">{total.toLocaleString('en-GB')}</span>
        <Link to={OTHER_AGENTS} className="group-more">
          All of them
        </Link>
      </h2>
      <ul className="cards" aria-label="Brought from other agents">
        {shown.map((info) => (
          <TheirCard key={info.id} info={info} />
        ))}
      </ul>
    </section>
  )
}

function hasGoneOn(card: Card | undefined): boolean {
  return card !== undefined && !isBrought(card)
}
