import { ActionIcon, Button, Textarea } from '@mantine/core'
import { IconArrowDown, IconArrowUp, IconPencil, IconPhoto, IconPlayerPlayFilled, IconX } from '@tabler/icons-react'
import { type FocusEvent, type ReactNode, useEffect, useRef, useState } from 'react'
import { act } from '@/lib/ask'
import { Tip } from '@/parts/Tip'
import type { QueuedMessage } from '@/protocol/types'
import type { Conversation } from '@/state/conversation'

interface Props {
  session: string
  queued: QueuedMessage[]
  held: boolean
  running: boolean
  inLine: Conversation['inLine']
  /** To where the next message is written. */
  leave: () => void
}

/** Messages that wait for the running turn: each can be said otherwise, earlier, now, or not at all. */
export default function Queue({ session, queued, held, running, inLine, leave }: Props) {
  const [editing, setEditing] = useState('')
  const focus = useFocusInRows(queued, editing, leave)
  const sendNow = async (one: QueuedMessage) => {
    if (!(await act('queue.move', { session, queued: one.id, position: 1 }))) return
    // A stopped turn holds back what waits, so that Stop starts nothing by itself: it is told to go on.
    if (running && !(await act('turn.cancel', { session }))) return
    await act('queue.resume', { session })
  }
  return (
    <section className="queue" aria-label="Queue" {...focus}>
      <div className="queue-head">
        <span className={held ? 'queue-held' : 'dim'}>
          {held ? 'Stopped. Held back until you say go on:' : inLine ? standing(inLine) : 'After this turn:'}
        </span>
        {held && (
          <Button size="compact-xs" variant="light" onClick={() => void act('queue.resume', { session })}>
            Go on with {queued.length === 1 ? 'it' : 'them'}
          </Button>
        )}
      </div>
      <ul aria-label="Waiting messages">
        {queued.map((one, place) => (
          <li key={one.id} data-queued={one.id}>
            {editing === one.id ? (
              <Edit session={session} one={one} close={() => setEditing('')} />
            ) : (
              <>
                <span className="dim mono queue-place">{place + 1}</span>
                <Words one={one} />
                <span className="queue-actions">
                  <Action
                    label="Send now"
                    tip={running ? 'Send now: stops this turn' : 'Send now'}
                    run={() => void sendNow(one)}
                  >
                    <IconPlayerPlayFilled size={12} />
                  </Action>
                  <Action label="Edit the message" run={() => setEditing(one.id)}>
                    <IconPencil size={14} />
                  </Action>
                  <Action
                    label="Earlier"
                    off={place === 0}
                    run={() => void act('queue.move', { session, queued: one.id, position: place })}
                  >
                    <IconArrowUp size={14} />
                  </Action>
                  <Action
                    label="Later"
                    off={place === queued.length - 1}
                    run={() => void act('queue.move', { session, queued: one.id, position: place + 2 })}
                  >
                    <IconArrowDown size={14} />
                  </Action>
                  <Action
                    label="Withdraw the message"
                    run={() => void act('queue.remove', { session, queued: one.id })}
                  >
                    <IconX size={14} />
                  </Action>
                </span>
              </>
            )}
          </li>
        ))}
      </ul>
    </section>
  )
}

function standing({ place, waiting }: NonNullable<Conversation['inLine']>): string {
  return `Waiting for other turns to end: number ${place}${waiting ? ` of ${waiting}` : ''} in line.`
}

/** A row that was sent, moved or edited takes the focus with it: it stays with the row, or goes on to the next message. */
function useFocusInRows(queued: QueuedMessage[], editing: string, leave: () => void) {
  const box = useRef<HTMLElement>(null)
  const at = useRef<{ row: string; name: string } | null>(null)
  const away = useRef(leave)
  away.current = leave
  const isLost = () => at.current !== null && document.activeElement === document.body
  useEffect(() => {
    if (!isLost()) return
    const row = box.current?.querySelector(`[data-queued="${at.current?.row}"]`)
    const same = row?.querySelector<HTMLElement>(`[aria-label="${at.current?.name}"]:enabled`)
    const next = same ?? row?.querySelector<HTMLElement>('button:enabled')
    if (next) next.focus()
    else away.current()
  }, [queued, editing])
  useEffect(
    () => () => {
      if (isLost()) away.current()
    },
    [],
  )
  return {
    ref: box,
    onFocus: ({ target }: FocusEvent<HTMLElement>) => {
      const row = target.closest<HTMLElement>('[data-queued]')?.dataset.queued ?? ''
      at.current = { row, name: target.getAttribute('aria-label') ?? '' }
    },
    onBlur: ({ relatedTarget }: FocusEvent<HTMLElement>) => {
      if (relatedTarget && !box.current?.contains(relatedTarget)) at.current = null
    },
  }
}

function Words({ one }: { one: QueuedMessage }) {
  const pictures = one.parts.filter(({ type }) => type === 'image').length
  return (
    <span className="cut queue-text" title={textOf(one)}>
      {textOf(one)}
      {pictures > 0 && (
        <span className="dim">
          {' '}
          <IconPhoto size={13} aria-label="with a picture" /> {pictures > 1 && pictures}
        </span>
      )}
    </span>
  )
}

function Edit({ session, one, close }: { session: string; one: QueuedMessage; close: () => void }) {
  const [text, setText] = useState(textOf(one))
  const save = async () => {
    const images = one.parts.filter((part) => part.type === 'image')
    if (!text.trim() && images.length === 0) return
    if (await act('queue.edit', { session, queued: one.id, text: text.trim(), parts: images })) close()
  }
  return (
    <form
      className="queue-edit"
      onSubmit={(event) => {
        event.preventDefault()
        void save()
      }}
    >
      <Textarea
        aria-label="Waiting message"
        autosize
        minRows={1}
        maxRows={8}
        autoFocus
        value={text}
        onFocus={(event) => event.currentTarget.setSelectionRange(text.length, text.length)}
        onChange={(event) => setText(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.nativeEvent.isComposing) return
          if (event.key === 'Escape') {
            event.stopPropagation()
            close()
          } else if (event.key === 'Enter' && !event.shiftKey) {
            event.preventDefault()
            void save()
          }
        }}
      />
      <Button size="compact-sm" type="submit">
        Save
      </Button>
      <Button size="compact-sm" variant="default" onClick={close}>
        Cancel
      </Button>
    </form>
  )
}

function Action(props: { label: string; tip?: string; off?: boolean; run: () => void; children: ReactNode }) {
  return (
    <Tip label={props.tip ?? props.label}>
      <ActionIcon
        size="sm"
        variant="subtle"
        color="gray"
        aria-label={props.label}
        disabled={props.off}
        onClick={props.run}
      >
        {props.children}
      </ActionIcon>
    </Tip>
  )
}

function textOf(one: QueuedMessage): string {
  return one.parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n')
}
