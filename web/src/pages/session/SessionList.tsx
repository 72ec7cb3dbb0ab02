import { TextInput } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { useMemo, useState } from 'react'
import { Ago } from '@/parts/Ago'
import { Owner } from '@/parts/Avatar'
import { StatusMark } from '@/parts/StatusMark'
import { useByTurn } from '@/state/attention'
import type { Card } from '@/state/overview'
import { doingWords } from './agents/views'
import './session-list.css'

/** The other sessions, beside the one that is open: what needs the person first, then what is at work, then what is new. */
export function SessionList({ close }: { close?: () => void }) {
  const { needsYou, running, done, rest, brought } = useByTurn()
  const [query, setQuery] = useState('')
  const news = useMemo(() => new Set([...needsYou, ...done]), [needsYou, done])
  const shown = useMemo(() => {
    const wanted = query.trim().toLowerCase()
    return [...needsYou, ...running, ...done, ...rest, ...brought]
      .filter(({ info }) => !wanted || `${info.name} ${info.cwd}`.toLowerCase().includes(wanted))
      .slice(0, 100)
  }, [needsYou, running, done, rest, brought, query])
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
        {shown.map((card) => (
          <li key={card.info.id}>
            <Link
              to="/sessions/$id"
              params={{ id: card.info.id }}
              className="session-link"
              activeProps={{ className: 'session-link session-link-active' }}
              activeOptions={{ includeSearch: false }}
              onClick={close}
            >
              <StatusMark status={card.info.status} doing={doingOf(card)} />
              <span className={news.has(card) ? 'cut session-link-news' : 'cut'} title={card.info.name}>
                {card.info.name || 'Unnamed session'}
              </span>
              <Owner info={card.info} />
              <span className="dim session-link-age">
                <Ago at={card.info.updated_at} />
              </span>
            </Link>
          </li>
        ))}
      </ul>
      {shown.length === 0 && <p className="dim">No session is called that.</p>}
    </nav>
  )
}

function doingOf({ info, line }: Card): string {
  return info.status === 'executing_tool' && line ? doingWords(line, info.status) : ''
}
