import { Button } from '@mantine/core'
import { useVirtualizer } from '@tanstack/react-virtual'
import { useCallback, useEffect, useMemo, useRef, useState } from 'react'
import type { Conversation } from '@/state/conversation'
import { daemon } from '@/state/daemon'
import { RowView } from './Rows'
import { type Row, rowsOf } from './rows'
import './chat.css'

/** Older messages are fetched when so many pixels are left above. */
const FETCH_AT = 1200

/** The conversation. It follows what is said while its end is in sight, and stays put otherwise. */
export function Chat({ conversation, rewind }: { conversation: Conversation; rewind: (turn: number) => void }) {
  const session = conversation.info.id
  const box = useRef<HTMLElement>(null)
  const rows = useMemo(() => rowsOf(conversation), [conversation])
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => box.current,
    estimateSize: (index) => guess(rows[index]),
    getItemKey: (index) => rows[index]?.key ?? index,
    overscan: 8,
    paddingStart: 16,
    paddingEnd: 16,
    anchorTo: 'end',
    followOnAppend: true,
    scrollEndThreshold: 48,
    useFlushSync: false,
  })
  const [atEnd, setAtEnd] = useState(true)
  const [seen, setSeen] = useState(rows.length)
  const fresh = atEnd ? 0 : Math.max(0, rows.length - seen)
  const started = useRef(false)

  useEffect(() => {
    if (started.current || rows.length === 0) return
    started.current = true
    virtual.scrollToEnd()
  }, [rows.length, virtual])

  const onScroll = useCallback(() => {
    const end = virtual.isAtEnd(48)
    setAtEnd(end)
    if (end) setSeen(Number.POSITIVE_INFINITY)
    else setSeen((before) => (before === Number.POSITIVE_INFINITY ? virtual.options.count : before))
    if (started.current && (box.current?.scrollTop ?? 0) < FETCH_AT) void daemon.loadOlder(session)
  }, [session, virtual])

  // A short first page fills no screen, so nothing scrolls that could ask for more.
  useEffect(() => {
    if (conversation.hasMore && (box.current?.scrollHeight ?? 0) < FETCH_AT) void daemon.loadOlder(session)
  }, [conversation.hasMore, rows.length, session])

  return (
    <div className="chat">
      <section
        ref={box}
        className="chat-scroll"
        aria-label="Conversation"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
        tabIndex={0}
        onScroll={onScroll}
      >
        <div className="chat-rows" style={{ height: virtual.getTotalSize() }}>
          {virtual.getVirtualItems().map((item) => {
            const row = rows[item.index]
            return (
              row && (
                <div
                  key={item.key}
                  ref={virtual.measureElement}
                  data-index={item.index}
                  className="chat-row"
                  style={{ transform: `translateY(${item.start}px)` }}
                >
                  <RowView session={session} row={row} rewind={rewind} />
                </div>
              )
            )
          })}
        </div>
      </section>
      {!atEnd && (
        <Button
          className="chat-pill"
          size="compact-sm"
          radius="xl"
          onClick={() => {
            virtual.scrollToEnd()
            setAtEnd(true)
          }}
        >
          ↓ {fresh > 0 ? `${fresh} new` : 'to the end'}
        </Button>
      )}
    </div>
  )
}

function guess(row: Row | undefined): number {
  switch (row?.kind) {
    case 'text':
      return 40 + Math.min(600, Math.ceil(row.text.length / 76) * 22)
    case 'user':
      return 64 + Math.min(400, Math.ceil(row.text.length / 76) * 22)
    case 'tool':
      return 32
    default:
      return 28
  }
}
