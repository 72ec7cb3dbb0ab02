import { ActionIcon, Button } from '@mantine/core'
import { IconArrowBackUp, IconBraces, IconChevronRight } from '@tabler/icons-react'
import { Link } from '@tanstack/react-router'
import { memo, useState } from 'react'
import { act } from '@/lib/ask'
import { modelName, tokens } from '@/lib/format'
import { useNow } from '@/lib/time'
import { wordsForEnd } from '@/lib/turn-words'
import { wayOn } from '@/lib/way-on'
import { Ago } from '@/parts/Ago'
import { CopyButton, Markdown } from '@/parts/Markdown'
import { Pictures } from '@/parts/Pictures'
import { Tip } from '@/parts/Tip'
import type { EndedTurn, Message, Retrying } from '@/protocol/types'
import type { Note } from '@/state/conversation'
import { useOverview } from '@/state/overview'
import { ownerOf, usePeople } from '@/state/people'
import { ResendButton } from './composer/ResendButton'
import { aboutNote } from './note-words'
import { useRowOpen, useThinkingShown } from './open-rows'
import { showRaw } from './panels'
import { notesOf, type Row } from './rows'
import { ToolRow } from './ToolRow'

export const RowView = memo(
  function RowView({ session, row, rewind }: { session: string; row: Row; rewind: (turn: number) => void }) {
    return (
      <div className={row.rewound ? 'row row-rewound' : 'row'} data-kind={row.kind}>
        {row.rewound && row.kind === 'text' && <span className="row-undone">taken back</span>}
        <Content session={session} row={row} rewind={rewind} />
      </div>
    )
  },
  (one, other) => one.session === other.session && one.rewind === other.rewind && sameRow(one.row, other.row),
)

function sameRow(one: Row, other: Row): boolean {
  const names = Object.keys(one) as (keyof Row)[]
  return names.length === Object.keys(other).length && names.every((name) => one[name] === other[name])
}

function Content({ session, row, rewind }: { session: string; row: Row; rewind: (turn: number) => void }) {
  switch (row.kind) {
    case 'user':
      return <UserRow session={session} row={row} rewind={rewind} />
    case 'text':
      return <TextRow text={row.text} live={row.live} message={row.message} />
    case 'thinking':
      return <ThinkingRow session={session} rowKey={row.key} text={row.text} live={row.live} />
    case 'tool':
      return (
        <ToolRow
          session={session}
          rowKey={row.key}
          call={row.call}
          state={row.state}
          result={row.result}
          open={row.open}
          asking={row.asking}
        />
      )
    case 'told':
      return <ToldRow session={session} rowKey={row.key} message={row.message} />
    case 'image':
      return <Pictures images={[row.image]} />
    case 'note':
      return <NoteRow session={session} note={row.note} />
    case 'ended':
      return <EndRow session={session} end={row.end} retry={row.retry} />
    case 'retrying':
      return <RetryingRow session={session} retrying={row.retrying} />
  }
}

function UserRow(props: { session: string; row: Extract<Row, { kind: 'user' }>; rewind: (turn: number) => void }) {
  const { session, row, rewind } = props
  const { message, rewound } = row
  const { number, turn = 0 } = message
  const info = useOverview(({ cards }) => cards[session]?.info)
  const people = usePeople()
  // Where several may write, nobody knows who of them did.
  const several = info && (info.team || ownerOf(people, info))
  return (
    <article className="said" aria-label={several ? 'Somebody said' : 'You said'}>
      <div className="said-head">
        <strong>{several ? 'Message' : 'You'}</strong>
        <span className="dim said-at">{message.created_at ? <Ago at={message.created_at} /> : null}</span>
        {rewound && <span className="dim">taken back</span>}
        <span className="row-actions">
          <CopyButton text={row.text} />
          {!rewound && turn > 0 && <ResendButton one={{ session, number, turn, text: row.text, images: row.images }} />}
          {!rewound && message.turn !== undefined && message.turn > 0 && (
            <Tip label="Back to before this message">
              <ActionIcon
                size="xs"
                variant="subtle"
                color="gray"
                aria-label="Back to before this message"
                onClick={() => rewind(message.turn ?? 0)}
              >
                <IconArrowBackUp size={13} />
              </ActionIcon>
            </Tip>
          )}
        </span>
      </div>
      <div className="said-text">{row.text}</div>
      <Pictures images={row.images} />
    </article>
  )
}

const CUT_SHORT: Partial<Record<NonNullable<Message['stop_reason']>, string>> = {
  cancelled: 'stopped here',
  interrupted: 'interrupted here',
  error: 'broke off here',
  max_tokens: 'longest allowed length reached',
  refusal: 'refused',
}

function TextRow({ text, live, message }: { text: string; live: boolean; message: Message | null }) {
  const cut = message?.stop_reason ? CUT_SHORT[message.stop_reason] : undefined
  return (
    <article className="answer" aria-label="The agent said" aria-busy={live}>
      <Markdown text={text} live={live} />
      {cut && <span className="answer-cut">— {cut}</span>}
      <span className="row-actions answer-actions">
        {message?.model && <span className="dim">{modelName(message.model)}</span>}
        {message?.usage && <span className="dim mono">{tokens(message.usage.output_tokens ?? 0)} out</span>}
        {!live && <CopyButton text={text} />}
        {message?.model && <RawButton number={message.number} />}
      </span>
    </article>
  )
}

/** The request that led to an answer, and the response, as they went over the wire. */
function RawButton({ number }: { number: number }) {
  return (
    <Tip label="As the provider saw it" side="end">
      <ActionIcon
        size="xs"
        variant="subtle"
        color="gray"
        aria-label="As the provider saw it"
        onClick={() => showRaw(number)}
      >
        <IconBraces size={13} />
      </ActionIcon>
    </Tip>
  )
}

function ThinkingRow(props: { session: string; rowKey: string; text: string; live: boolean }) {
  const shown = useThinkingShown((state) => state.shown)
  const [open, toggle] = useRowOpen(props.session, props.rowKey, shown)
  const words = props.text.trim().split(/\s+/).length
  return (
    <div className="thinking">
      <button type="button" className="thinking-line" aria-expanded={open} onClick={toggle}>
        <IconChevronRight size={14} className={open ? 'tool-chevron tool-chevron-open' : 'tool-chevron'} />
        {props.live ? 'thinking' : 'thought'} · <span className="mono">{words}</span> words
      </button>
      {open && <div className="thinking-text">{props.text}</div>}
    </div>
  )
}

/** What the model was given along with a message: one dim line, whatever it was. */
function ToldRow({ session, rowKey, message }: { session: string; rowKey: string; message: Message }) {
  const notes = notesOf(message)
  // What tells of a loss is meant for people too.
  const [open, toggle] = useRowOpen(
    session,
    rowKey,
    notes.some(({ source }) => source === 'background'),
  )
  const names = [...new Set(notes.map(({ source }) => aboutNote(source)))]
  return (
    <div className="thinking">
      <button type="button" className="thinking-line" aria-expanded={open} onClick={toggle}>
        <IconChevronRight size={14} className={open ? 'tool-chevron tool-chevron-open' : 'tool-chevron'} />
        <span className="cut">given along: {names.join(', ')}</span>
      </button>
      {open &&
        notes.map((part) => (
          <div key={part.source} className="thinking-text">
            {part.text}
          </div>
        ))}
    </div>
  )
}

/** How a turn ended, when it did not just end well: the same line live and a year later. */
function EndRow({ session, end, retry }: { session: string; end: EndedTurn; retry: boolean }) {
  const { text, next } = wordsForEnd(end)
  const tone =
    end.reason === 'error' || end.reason === 'refused' ? 'bad' : end.reason === 'cancelled' ? 'plain' : 'warn'
  const way = wayOn(end.error)
  return (
    <div className={`note note-${tone}`} role={tone === 'bad' ? 'alert' : undefined}>
      <span>{text}</span>
      {way ? (
        <Link className="note-hint" to={way.to}>
          {way.label}
        </Link>
      ) : (
        next && <span className="note-hint">{next}</span>
      )}
      {retry && <RetryButton session={session} label="Retry" />}
    </div>
  )
}

/** What is waited for, and how long still. */
function RetryingRow({ session, retrying }: { session: string; retrying: Retrying }) {
  const { attempt, max_attempts, delay_s, error, at } = retrying
  const now = useNow(250)
  const left = Math.min(Math.max(at + delay_s - now, 0), delay_s)
  const when = left > 0 ? `Retrying in ${Math.ceil(left)} s` : 'Retrying'
  return (
    <div className="note note-warn">
      <span role="timer">
        {when} ({attempt} of {max_attempts}): {error.message}
      </span>
      {left > 0 && <RetryButton session={session} label="Retry now" />}
    </div>
  )
}

function RetryButton({ session, label }: { session: string; label: string }) {
  const [busy, setBusy] = useState(false)
  const retry = async () => {
    setBusy(true)
    await act('turn.retry', { session })
    setBusy(false)
  }
  return (
    <Button size="compact-xs" variant="light" loading={busy} onClick={() => void retry()}>
      {label}
    </Button>
  )
}

function NoteRow({ session, note }: { session: string; note: Note }) {
  return (
    <div className={`note note-${note.tone}`} role={note.tone === 'bad' ? 'alert' : undefined}>
      <span>{note.text}</span>
      {note.hint && <span className="note-hint">{note.hint}</span>}
      {note.undo && (
        <Button
          size="compact-xs"
          variant="subtle"
          onClick={() => void act('session.redo', { session, undo: note.undo ?? '' })}
        >
          Take the rewind back
        </Button>
      )}
    </div>
  )
}
