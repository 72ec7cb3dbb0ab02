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
/** So near to the end counts as there. */
const NEAR = 48
/** On the way to a message far back. */
const LARGEST_PAGE = 1000

interface Props {
  conversation: Conversation
  rewind: (turn: number) => void
  /** The number of a message to go to. */
  at: number | undefined
}

/** The conversation. It follows what is said while its end is in sight, and stays put otherwise. */
export function Chat({ conversation, rewind, at }: Props) {
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
    scrollEndThreshold: NEAR,
    useFlushSync: false,
  })
  // Following ends when a person scrolls up, and begins again at the end: never by what grows or shrinks around it.
  const [away, setAway] = useState(at !== undefined)
  const [seen, setSeen] = useState(rows.length)
  const fresh = away ? Math.max(0, rows.length - seen) : 0
  const last = useRef({ top: 0, scrollHeight: 0, clientHeight: 0 })

  const height = virtual.getTotalSize()
  // By hand: the virtualizer's own way to the end goes on for some frames, and would pull back who scrolls away meanwhile.
  useEffect(() => {
    if (!away && height > 0) toEnd(box.current)
  }, [away, height])
  useEffect(() => {
    if (away) return
    const watching = new ResizeObserver(() => toEnd(box.current))
    watching.observe(box.current!)
    return () => watching.disconnect()
  }, [away])

  const wanted = at === undefined ? -1 : rows.findIndex((row) => numberOf(row) >= at)
  const arrived = useRef<number>(undefined)
  useEffect(() => {
    if (at === undefined || arrived.current === at) return
    if (conversation.hasMore && (conversation.messages[0]?.number ?? 0) > at) {
      void daemon.loadOlder(session, LARGEST_PAGE)
    } else if (wanted >= 0) {
      arrived.current = at
      virtual.scrollToIndex(wanted, { align: 'center' })
    }
  }, [at, wanted, conversation.hasMore, conversation.messages, session, virtual])

  const onScroll = useCallback(() => {
    const { scrollTop: top, scrollHeight, clientHeight } = box.current!
    const before = last.current
    last.current = { top, scrollHeight, clientHeight }
    // Where there is less to see, or less room to see it, the browser moves up by itself.
    const smaller = scrollHeight < before.scrollHeight || clientHeight !== before.clientHeight
    const up = top < before.top && !smaller
    if (scrollHeight - top - clientHeight <= (up ? 1 : NEAR)) setAway(false)
    else if (up) {
      if (!away) setSeen(virtual.options.count)
      setAway(true)
    }
    if (top < FETCH_AT) void daemon.loadOlder(session)
  }, [away, session, virtual])

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
        <div className="chat-rows" style={{ height }}>
          {virtual.getVirtualItems().map((item) => {
            const row = rows[item.index]
            return (
              row && (
                <div
                  key={item.key}
                  ref={virtual.measureElement}
                  data-index={item.index}
                  className={item.index === wanted ? 'chat-row chat-row-wanted' : 'chat-row'}
                  style={{ transform: `translateY(${item.start}px)` }}
                >
                  <RowView session={session} row={row} rewind={rewind} />
                </div>
              )
            )
          })}
        </div>
      </section>
      {away && (
        <Button className="chat-pill" size="compact-sm" radius="xl" onClick={() => setAway(false)}>
          ↓ {fresh > 0 ? `${fresh} new` : 'to the end'}
        </Button>
      )}
    </div>
  )
}

function toEnd(box: HTMLElement | null): void {
  if (box) box.scrollTop = box.scrollHeight
}

function numberOf(row: Row): number {
  return Number(/^m(\d+)/.exec(row.key)?.[1] ?? 0)
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
