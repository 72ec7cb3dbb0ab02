import { Button } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { cost, folderName } from '@/lib/format'
import { Ago } from '@/parts/Ago'
import { Choice } from '@/parts/Choice'
import { sessionsWords } from '@/parts/history/bringing'
import { useBroughtCounts, useBroughtSessions } from '@/parts/history/brought-sessions'
import { Chip, Filter, Quiet, Row, Rows, Section } from '@/parts/Listing'
import { ErrorState, LoadingRows } from '@/parts/states'
import type { SessionInfo } from '@/protocol/types'

const PAGE = 30
const SETTLED = 150

/** What was brought and has not gone on here: apart from the sessions that somebody works in. */
export function Brought() {
  const { byAgent, total } = useBroughtCounts()
  const [agent, setAgent] = useState('')
  const [query, setQuery] = useState('')
  const [settled] = useDebouncedValue(query.trim(), SETTLED)
  const found = useBroughtSessions(agent, settled, PAGE)
  if (total === 0) return null
  const shown = found.data?.pages.flatMap(({ sessions }) => sessions) ?? []
  return (
    <Section
      title="Brought here"
      about={`${sessionsWords(total)}. A message in one goes on with it, and makes it a session like any other.`}
      actions={
        <>
          <Filter label="Filter by name" value={query} change={setQuery} width={180} />
          {Object.keys(byAgent).length > 1 && (
            <Choice
              label="Brought from"
              value={agent}
              choose={setAgent}
              choices={[
                { value: '', label: 'all' },
                ...Object.entries(byAgent).map(([name, count]) => ({ value: name, label: `${name} ${count}` })),
              ]}
            />
          )}
        </>
      }
    >
      {found.isPending ? (
        <LoadingRows count={4} height={48} />
      ) : found.error ? (
        <ErrorState problem={found.error} retry={() => void found.refetch()} />
      ) : shown.length === 0 ? (
        <Quiet>No session is called that.</Quiet>
      ) : (
        <Rows label="Sessions brought here">
          {shown.map((info) => (
            <BroughtRow key={info.id} info={info} />
          ))}
        </Rows>
      )}
      {found.hasNextPage && (
        <Button
          size="compact-sm"
          variant="subtle"
          color="gray"
          loading={found.isFetchingNextPage}
          onClick={() => void found.fetchNextPage()}
        >
          Show more
        </Button>
      )}
    </Section>
  )
}

export function BroughtRow({ info }: { info: SessionInfo }) {
  const { origin, message_count: messages = 0 } = info
  const { usage } = origin ?? {}
  return (
    <Row
      name={
        <Link to="/sessions/$id" params={{ id: info.id }} className="history-name cut">
          {info.name || 'Unnamed session'}
        </Link>
      }
      chips={origin && <Chip title={origin.path}>{origin.title}</Chip>}
      about={`${folderName(info.cwd)} · ${messages} messages`}
      figures={
        <span className="history-figures">
          <span className="mono">{usage?.requests ? cost(usage.cost_usd ?? 0, usage.unpriced ?? 0) : '–'}</span>
          <Ago at={info.updated_at} />
        </span>
      }
    />
  )
}
