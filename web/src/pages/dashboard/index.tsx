import { Button, Select, Skeleton, TextInput } from '@mantine/core'
import { IconChecks, IconPlus, IconSearch, IconSparkles } from '@tabler/icons-react'
import { lazy, type ReactNode, useMemo, useState } from 'react'
import { answering, folderName } from '@/lib/format'
import { onDemand } from '@/parts/Demand'
import { useFirstRun } from '@/parts/first-run'
import { Page } from '@/parts/Page'
import { EmptyState } from '@/parts/states'
import { useShell } from '@/shell/shell-state'
import { useKeys } from '@/shell/shortcuts'
import { type ByTurn, byProject, useByTurn } from '@/state/attention'
import { type Card, useOverview } from '@/state/overview'
import { Bulk } from './Bulk'
import { MenuTrigger } from './MenuTrigger'
import './dashboard.css'
import { NeedCard } from './NeedCard'
import { SessionCard } from './SessionCard'
import { SystemPanel } from './SystemPanel'
import { Theirs } from './Theirs'

type Sort = 'active' | 'name' | 'cost' | 'context'

const openForm = () => useShell.setState({ newSession: true })

const Menu = onDemand<object>(() => import('./Menu'), MenuTrigger)
const Welcome = lazy(() => import('@/pages/welcome'))

export default function Dashboard() {
  return useFirstRun() ? <Welcome /> : <Sessions />
}

function Sessions() {
  const loaded = useOverview((state) => state.loaded)
  const all = useByTurn()
  const [sort, setSort] = useState<Sort>('active')
  const [query, setQuery] = useState('')
  const [choosing, setChoosing] = useState<ReadonlySet<string> | null>(null)
  const shown = useMemo(() => narrowed(all, query), [all, query])
  useKeys('Sessions', [
    { keys: 'j', what: 'Next session', run: () => toCard(1) },
    { keys: 'k', what: 'Previous session', run: () => toCard(-1) },
  ])
  const total = Object.values(all).flat().length - all.brought.length
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
          <Order sort={sort} setSort={setSort} />
          {(!loaded || total > 0) && (
            <Button
              size="xs"
              variant="default"
              className="dashboard-choose"
              disabled={!loaded}
              leftSection={<IconChecks size={16} />}
              aria-pressed={choosing !== null}
              onClick={() => setChoosing(choosing ? null : new Set())}
            >
              Choose
            </Button>
          )}
          <Button size="xs" leftSection={<IconPlus size={16} />} onClick={openForm}>
            New session
          </Button>
          <Menu />
        </>
      }
    >
      <SystemPanel />
      {!loaded ? (
        <LoadingCards />
      ) : total === 0 ? (
        <Empty />
      ) : Object.values(shown).flat().length === shown.brought.length ? (
        <p className="dim no-match">No session matches. Clear the filter to see all {total}.</p>
      ) : (
        <Groups shown={shown} sort={sort} choosing={choosing} setChoosing={setChoosing} />
      )}
      <Theirs query={query} />
    </Page>
  )
}

/** In the places that the cards will have. */
function LoadingCards() {
  return (
    <div className="cards" role="status" aria-label="Loading">
      {Array.from({ length: 6 }, (_, index) => (
        <Skeleton key={index} className="card-loading" radius="md" />
      ))}
    </div>
  )
}

/** From card to card: Enter opens one, and Tab leads to what it asks. */
function toCard(step: number): void {
  const names = [...document.querySelectorAll<HTMLElement>('.card-name')]
  const cards = names.map((name) => name.closest('li'))
  const here = cards.findIndex((card) => card?.contains(document.activeElement))
  const next = here < 0 && step < 0 ? names.length - 1 : here + step
  names[Math.max(0, Math.min(names.length - 1, next))]?.focus()
}

interface GroupsProps {
  shown: ByTurn
  sort: Sort
  choosing: ReadonlySet<string> | null
  setChoosing: (chosen: ReadonlySet<string> | null) => void
}

/** By who has to act next; what nobody waits for stands by project. */
function Groups({ shown, sort, choosing, setChoosing }: GroupsProps) {
  const agents = useAgents()
  const [archive, setArchive] = useState(false)
  const { needsYou, running, done, rest, archived } = shown
  const choose = (id: string) => {
    const next = new Set(choosing)
    if (!next.delete(id)) next.add(id)
    setChoosing(next)
  }
  const card = (one: Card, news = false) => (
    <SessionCard
      key={one.info.id}
      card={one}
      news={news}
      agents={agents.get(one.info.id) ?? NONE}
      chosen={choosing?.has(one.info.id)}
      choose={choosing ? choose : undefined}
    />
  )
  const chosen = [...running, ...done, ...rest, ...archived].filter(({ info }) => choosing?.has(info.id))
  return (
    <>
      {choosing && <Bulk chosen={chosen} done={() => setChoosing(null)} />}
      <Group title="Needs you" count={needsYou.length} list="needs">
        {needsYou.map((one) => (
          <NeedCard key={one.info.id} card={one} agents={agents.get(one.info.id) ?? NONE} />
        ))}
      </Group>
      <Group title="Running" count={running.length}>
        {[...running].sort(ORDER[sort]).map((one) => card(one))}
      </Group>
      <Group title="Done since you looked" count={done.length}>
        {done.map((one) => card(one, true))}
      </Group>
      {byProject(rest).map(([folder, cards]) => (
        <Group key={folder} title={folderName(folder)} about={folder} count={cards.length}>
          {[...cards].sort(ORDER[sort]).map((one) => card(one))}
        </Group>
      ))}
      {archived.length > 0 && (
        <Button size="xs" variant="subtle" color="gray" aria-expanded={archive} onClick={() => setArchive(!archive)}>
          {archive ? 'Hide what is archived' : `${archived.length} archived`}
        </Button>
      )}
      <Group title="Archived" count={archive ? archived.length : 0}>
        {archived.map((one) => card(one))}
      </Group>
    </>
  )
}

interface GroupProps {
  title: string
  about?: string
  count: number
  list?: string
  children: ReactNode
}

function Group({ title, about, count, list = 'cards', children }: GroupProps) {
  if (count === 0) return null
  return (
    <section className="group">
      <h2 className="group-head">
        {title} <span className="mono dim">{count}</span>
        {about && <span className="dim cut group-about">{about}</span>}
      </h2>
      <ul className={list} aria-label={title}>
        {children}
      </ul>
    </section>
  )
}

function Order({ sort, setSort }: { sort: Sort; setSort: (sort: Sort) => void }) {
  return (
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
  )
}

function Empty() {
  return (
    <EmptyState
      icon={<IconSparkles size={24} />}
      title="No sessions yet"
      action={<Button onClick={openForm}>Start the first session</Button>}
    >
      A session is one agent at work in one directory. Start one here, or run <code>openagent</code> in a terminal: it
      shows up on this page.
    </EmptyState>
  )
}

const NONE: Card[] = []

function useAgents(): Map<string, Card[]> {
  const cards = useOverview((state) => state.cards)
  return useMemo(() => {
    const found = new Map<string, Card[]>()
    for (const card of Object.values(cards))
      if (card.info.parent) found.set(card.info.parent, [...(found.get(card.info.parent) ?? []), card])
    return found
  }, [cards])
}

function narrowed(all: ByTurn, query: string): ByTurn {
  const wanted = query.trim().toLowerCase()
  if (!wanted) return all
  const matches = ({ info }: Card) => `${info.name} ${info.cwd} ${answering(info)}`.toLowerCase().includes(wanted)
  const { needsYou, running, done, rest, brought, archived } = all
  return {
    needsYou: needsYou.filter(matches),
    running: running.filter(matches),
    done: done.filter(matches),
    rest: rest.filter(matches),
    brought: brought.filter(matches),
    archived: archived.filter(matches),
  }
}

const ORDER: Record<Sort, (one: Card, other: Card) => number> = {
  active: (one, other) => other.info.updated_at - one.info.updated_at,
  name: (one, other) => one.info.name.localeCompare(other.info.name),
  cost: (one, other) => (other.info.usage?.cost_usd ?? 0) - (one.info.usage?.cost_usd ?? 0),
  context: (one, other) => (other.info.usage?.context_tokens ?? 0) - (one.info.usage?.context_tokens ?? 0),
}
