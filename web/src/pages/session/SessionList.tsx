import { TextInput } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { useMemo, useState } from 'react'
import { Ago } from '@/parts/Ago'
import { StatusMark } from '@/parts/StatusMark'
import { isRunning } from '@/state/conversation'
import { type Card, useOverview } from '@/state/overview'
import './session-list.css'

/** The other sessions, beside the one that is open: waiting first, then at work, then by time. */
export function SessionList({ close }: { close?: () => void }) {
  const cards = useOverview((state) => state.cards)
  const [query, setQuery] = useState('')
  const shown = useMemo(() => {
    const wanted = query.trim().toLowerCase()
    return Object.values(cards)
      .filter(({ info }) => !info.parent && (!wanted || `${info.name} ${info.cwd}`.toLowerCase().includes(wanted)))
      .sort((one, other) => rank(one) - rank(other) || other.info.updated_at - one.info.updated_at)
      .slice(0, 100)
  }, [cards, query])
  return (
    <nav className="session-list" aria-label="Sessions">
      <TextInput
        size="xs"
        aria-label="Filter sessions"
        placeholder="Filter sessions"
        value={query}
        onChange={(event) => setQuery(event.currentTarget.value)}
      />
      <ul>
        {shown.map(({ info }) => (
          <li key={info.id}>
            <Link
              to="/sessions/$id"
              params={{ id: info.id }}
              className="session-link"
              activeProps={{ className: 'session-link session-link-active' }}
              activeOptions={{ includeSearch: false }}
              onClick={close}
            >
              <StatusMark status={info.status} />
              <span className="cut">{info.name || 'Unnamed session'}</span>
              <span className="dim session-link-age">
                <Ago at={info.updated_at} />
              </span>
            </Link>
          </li>
        ))}
      </ul>
      {shown.length === 0 && <p className="dim">No session is called that.</p>}
    </nav>
  )
}

function rank({ info }: Card): number {
  if (info.status === 'waiting_approval') return 0
  return isRunning(info) ? 1 : 2
}
