import { ActionIcon } from '@mantine/core'
import { IconPin, IconPinFilled } from '@tabler/icons-react'
import { useMemo, useState } from 'react'
import { act } from '@/lib/ask'
import { tokens } from '@/lib/format'
import { useRenew } from '@/lib/live'
import { Chip, Filter } from '@/parts/Listing'
import type { ContextMessage } from '@/protocol/types'

/** Enough to find one; the rest by searching. */
const MOST = 200

/** Every message the model sees, the largest first, to be kept from being shrunk. */
export function Messages({ session, messages }: { session: string; messages: ContextMessage[] }) {
  const renew = useRenew('context.show')
  const [query, setQuery] = useState('')
  const text = query.trim().toLowerCase()
  const found = useMemo(
    () =>
      messages
        .filter(({ about = '', section = '', role }) => `${about} ${section} ${role}`.toLowerCase().includes(text))
        .sort((one, other) => other.tokens - one.tokens),
    [messages, text],
  )
  const pin = async (message: ContextMessage) => {
    await act('context.pin', { session, message: message.number, on: !message.pinned })
    await renew()
  }
  return (
    <section>
      <header className="context-messages-head">
        <h3 className="context-title">Messages, the largest first</h3>
        <Filter label="Filter messages" value={query} change={setQuery} width={220} />
      </header>
      {found.length === 0 ? (
        <p className="dim context-note">{text ? 'No message matches.' : 'Nothing was said yet.'}</p>
      ) : (
        <ul className="context-messages" aria-label="Messages in the context">
          {found.slice(0, MOST).map((message) => (
            <li key={message.number}>
              <span className="mono dim">{message.number === 0 ? '' : message.number}</span>
              <span className="dim">{message.number === 0 ? 'summary' : message.role}</span>
              <span className="cut" title={message.about}>
                {message.about || message.section}
              </span>
              {message.shortened ? <Chip>shortened</Chip> : <span />}
              <span className="mono">{tokens(message.tokens)}</span>
              {message.number === 0 ? (
                <span />
              ) : (
                <ActionIcon
                  variant="subtle"
                  color={message.pinned ? 'indigo' : 'gray'}
                  size="sm"
                  aria-label={`Pin message ${message.number}`}
                  aria-pressed={message.pinned ?? false}
                  title={message.pinned ? 'Pinned: never shrunk' : 'Keep it from being shrunk'}
                  onClick={() => void pin(message)}
                >
                  {message.pinned ? <IconPinFilled size={14} /> : <IconPin size={14} />}
                </ActionIcon>
              )}
            </li>
          ))}
        </ul>
      )}
      {found.length > MOST && <p className="dim context-note">{found.length - MOST} smaller ones: search for them.</p>}
    </section>
  )
}
