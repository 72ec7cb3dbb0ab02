import { Button, Select, TextInput } from '@mantine/core'
import { IconPlus, IconSearch, IconSparkles } from '@tabler/icons-react'
import { useMemo, useState } from 'react'
import { answering } from '@/lib/format'
import { Choice } from '@/parts/Choice'
import { Page } from '@/parts/Page'
import { EmptyState, LoadingRows } from '@/parts/states'
import { useShell } from '@/shell/shell-state'
import { isRunning } from '@/state/conversation'
import { type Card, useOverview } from '@/state/overview'
import './dashboard.css'
import { SessionCard } from './SessionCard'
import { SystemPanel } from './SystemPanel'

type Show = 'all' | 'running' | 'waiting' | 'idle'
type Sort = 'active' | 'name' | 'cost' | 'context'

const openForm = () => useShell.setState({ newSession: true })

const newSession = (
  <Button size="xs" leftSection={<IconPlus size={16} />} onClick={openForm}>
    New session
  </Button>
)

export default function Dashboard() {
  const cards = useOverview((state) => state.cards)
  const loaded = useOverview((state) => state.loaded)
  const [show, setShow] = useState<Show>('all')
  const [sort, setSort] = useState<Sort>('active')
  const [query, setQuery] = useState('')
  const top = useMemo(() => Object.values(cards).filter(({ info }) => !info.parent), [cards])
  const children = useMemo(() => childrenOf(Object.values(cards)), [cards])
  const shownCards = useMemo(
    () => top.filter((card) => matches(card, show, query)).sort(ORDER[sort]),
    [top, show, sort, query],
  )
  const waiting = top.filter(({ info }) => info.status === 'waiting_approval').length
  return (
    <Page
      title="Sessions"
      wide
      actions={
        <>
          <TextInput
            size="xs"
            className="dashboard-filter"
            aria-label="Filter sessions"
            placeholder="Filter"
            leftSection={<IconSearch size={14} />}
            value={query}
            onChange={(event) => setQuery(event.currentTarget.value)}
          />
          <Choice
            label="Which sessions"
            value={show}
            choose={setShow}
            choices={[
              'all',
              'running',
              { value: 'waiting', label: waiting ? `waiting (${waiting})` : 'waiting' },
              'idle',
            ]}
          />
          <Select
            size="xs"
            w={124}
            className="dashboard-order"
            aria-label="Order"
            allowDeselect={false}
            value={sort}
            onChange={(value) => setSort((value ?? 'active') as Sort)}
            data={[
              { value: 'active', label: 'last active' },
              { value: 'name', label: 'name' },
              { value: 'cost', label: 'cost' },
              { value: 'context', label: 'context' },
            ]}
          />
          {newSession}
        </>
      }
    >
      <SystemPanel />
      {!loaded ? (
        <LoadingRows count={3} height={128} />
      ) : top.length === 0 ? (
        <EmptyState
          icon={<IconSparkles size={24} />}
          title="No sessions yet"
          action={<Button onClick={openForm}>Start the first session</Button>}
        >
          A session is one agent at work in one directory. Start one here, or run <code>openagent</code> in a terminal:
          it shows up on this page.
        </EmptyState>
      ) : shownCards.length === 0 ? (
        <p className="dim no-match">No session matches. Clear the filter to see all {top.length}.</p>
      ) : (
        <ul className="cards">
          {shownCards.map((card) => (
            <SessionCard key={card.info.id} card={card} agents={children.get(card.info.id) ?? NONE} />
          ))}
        </ul>
      )}
    </Page>
  )
}

const NONE: Card[] = []

function childrenOf(cards: Card[]): Map<string, Card[]> {
  const found = new Map<string, Card[]>()
  for (const card of cards)
    if (card.info.parent) found.set(card.info.parent, [...(found.get(card.info.parent) ?? []), card])
  return found
}

function matches({ info }: Card, show: Show, query: string): boolean {
  const wanted = query.trim().toLowerCase()
  if (wanted && !`${info.name} ${info.cwd} ${answering(info)}`.toLowerCase().includes(wanted)) return false
  switch (show) {
    case 'all':
      return true
    case 'running':
      return isRunning(info)
    case 'waiting':
      return info.status === 'waiting_approval'
    case 'idle':
      return !isRunning(info)
  }
}

/** Sessions that wait for a person come first, whatever the order. */
const waitingFirst = (one: Card, other: Card): number =>
  Number(other.info.status === 'waiting_approval') - Number(one.info.status === 'waiting_approval')

const ORDER: Record<Sort, (one: Card, other: Card) => number> = {
  active: (one, other) => waitingFirst(one, other) || other.info.updated_at - one.info.updated_at,
  name: (one, other) => waitingFirst(one, other) || one.info.name.localeCompare(other.info.name),
  cost: (one, other) => waitingFirst(one, other) || (other.info.usage?.cost_usd ?? 0) - (one.info.usage?.cost_usd ?? 0),
  context: (one, other) =>
    waitingFirst(one, other) || (other.info.usage?.context_tokens ?? 0) - (one.info.usage?.context_tokens ?? 0),
}
