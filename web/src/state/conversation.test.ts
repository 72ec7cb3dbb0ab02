import { describe, expect, it } from 'vitest'
import { wordsForEnd } from '@/lib/turn-words'
import { rowsOf } from '@/pages/session/rows'
import type { AnyEvent, Message, SessionInfo, Snapshot } from '@/protocol/types'
import { type Conversation, fromSnapshot, OUTPUT_KEPT, reduce, withOlder } from './conversation'

const info: SessionInfo = { id: 's', name: 'one', cwd: '/w', created_at: 1, updated_at: 1 }

function begin(more: Partial<Snapshot> = {}): Conversation {
  return fromSnapshot({ info, seq: 0, ...more }, null)
}

function user(number: number, text: string, turn = 1): Message {
  return { number, role: 'user', turn, parts: [{ type: 'text', text }] }
}

/** A turn as the daemon tells it: durable events numbered one by one, deltas with the number they follow. */
const TURN: AnyEvent[] = [
  { type: 'message.added', session: 's', seq: 1, message: user(1, 'fix it') },
  { type: 'turn.started', session: 's', seq: 2, at: 10, turn: 1 },
  { type: 'status', session: 's', seq: 3, status: 'thinking' },
  { type: 'thinking.delta', session: 's', seq: 3, message_number: 2, text: 'Let me ' },
  { type: 'thinking.delta', session: 's', seq: 3, message_number: 2, text: 'look.' },
  { type: 'text.delta', session: 's', seq: 3, message_number: 2, text: 'I run ' },
  { type: 'text.delta', session: 's', seq: 3, message_number: 2, text: 'it.' },
  {
    type: 'message.added',
    session: 's',
    seq: 4,
    message: {
      number: 2,
      role: 'assistant',
      turn: 1,
      parts: [
        { type: 'thinking', text: 'Let me look.' },
        { type: 'text', text: 'I run it.' },
        { type: 'tool_call', id: 'c1', name: 'shell', arguments: { command: 'ls' } },
      ],
    },
  },
  { type: 'tool.started', session: 's', seq: 5, at: 11, call_id: 'c1', tool: 'shell', summary: 'ls' },
  { type: 'tool.output', session: 's', seq: 5, call_id: 'c1', text: 'a.py\n' },
  { type: 'tool.finished', session: 's', seq: 6, call_id: 'c1', tool: 'shell', duration_ms: 4, exit_code: 0 },
  {
    type: 'message.added',
    session: 's',
    seq: 7,
    message: {
      number: 3,
      role: 'tool',
      turn: 1,
      parts: [{ type: 'tool_result', call_id: 'c1', name: 'shell', text: 'a.py' }],
    },
  },
  { type: 'text.delta', session: 's', seq: 7, message_number: 4, text: 'Done.' },
  {
    type: 'message.added',
    session: 's',
    seq: 8,
    message: { number: 4, role: 'assistant', turn: 1, parts: [{ type: 'text', text: 'Done.' }] },
  },
  { type: 'turn.completed', session: 's', seq: 9, at: 12, turn: 1, reason: 'done', text: 'Done.' },
  { type: 'status', session: 's', seq: 10, status: 'idle' },
]

describe('somebody who comes while calls run', () => {
  const asked: Message = {
    number: 2,
    role: 'assistant',
    turn: 1,
    parts: [{ type: 'tool_call', id: 'c1', name: 'shell', arguments: { command: 'make' } }],
  }
  const running = [
    { call_id: 'c1', tool: 'shell', summary: 'make', started_at: 7, output: 'half\n', dropped: 3 },
    { call_id: 'own', tool: 'shell', summary: 'ls', started_at: 8 },
  ]

  it('sees them run, since when, and what they printed', () => {
    const seen = begin({ messages: [user(1, 'build it'), asked], running })
    expect(seen.calls.c1).toMatchObject({ startedAt: 7, output: 'half\n', dropped: 3, finished: null })
    expect(seen.runs).toEqual([{ callId: 'own', after: 2 }])
  })

  it('sees each once, when it comes again', () => {
    const before = begin({ messages: [user(1, 'build it'), asked], running })
    const again = fromSnapshot({ info, seq: 3, messages: [user(1, 'build it'), asked], running }, before)
    expect(again.runs).toHaveLength(1)
  })
})

describe('a conversation', () => {
  it('shows a turn as what was said, thought and done', () => {
    const state = TURN.reduce(reduce, begin())
    expect(rowsOf(state).map((row) => [row.kind, row.key])).toEqual([
      ['user', 'm1'],
      ['thinking', 'm2.0'],
      ['text', 'm2.1'],
      ['tool', 'tc1'],
      ['text', 'm4.0'],
    ])
    expect(state.info.status).toBe('idle')
    expect(state.live).toBeNull()
    expect(state.seq).toBe(10)
  })

  it('keeps the keys of rows when a streamed answer becomes a message', () => {
    const streaming = TURN.slice(0, 7).reduce(reduce, begin())
    const live = rowsOf(streaming).map((row) => row.key)
    expect(live).toEqual(['m1', 'm2.0', 'm2.1'])
    expect(
      rowsOf(reduce(streaming, TURN[7]!))
        .map((row) => row.key)
        .slice(0, 3),
    ).toEqual(live)
  })

  it('is the same whatever was missed and replayed, and wherever', () => {
    const whole = TURN.reduce(reduce, begin())
    const durable = TURN.filter(({ type }) => !type.endsWith('.delta') && type !== 'tool.output')
    for (let cut = 0; cut <= TURN.length; cut += 1) {
      const before = TURN.slice(0, cut).reduce(reduce, begin())
      // On coming back the daemon sends what is newer than `seq`; here it sends everything again, which must not matter.
      const after = durable.reduce(reduce, before)
      expect(after.messages).toEqual(whole.messages)
      expect(after.results).toEqual(whole.results)
      expect(after.live).toBeNull()
      expect(after.seq).toBe(whole.seq)
      expect(rowsOf(after).map((row) => row.key)).toEqual(rowsOf(whole).map((row) => row.key))
    }
  })

  it('takes the answer so far in one piece after a break, and goes on from there', () => {
    const base = begin({ seq: 3, messages: [user(1, 'fix it')] })
    const back = reduce(base, {
      type: 'live.state',
      session: 's',
      seq: 3,
      live: { message_number: 2, parts: [{ type: 'text', text: 'I run ' }] },
    })
    const more = reduce(back, { type: 'text.delta', session: 's', seq: 3, message_number: 2, text: 'it.' })
    expect(rowsOf(more).at(-1)).toMatchObject({ kind: 'text', text: 'I run it.', live: true })
  })

  it('takes no number from an event that is live only', () => {
    const running = TURN.slice(0, 4).reduce(reduce, begin())
    const ahead = reduce(running, { type: 'context.shown', session: 's', seq: 12 } as AnyEvent)
    const ended = reduce(ahead, { type: 'turn.completed', session: 's', seq: 11, turn: 1, reason: 'cancelled' })
    expect(ended.info.status).toBe('idle')
  })

  it('ignores a delta of a message that is there already', () => {
    const state = TURN.slice(0, 8).reduce(reduce, begin())
    expect(reduce(state, TURN[6]!).live).toBeNull()
  })

  it('puts older messages before the others once, and knows when there are no more', () => {
    const state = begin({ messages: [user(3, 'c'), user(4, 'd')], has_more: true })
    const page = { messages: [user(1, 'a'), user(2, 'b'), user(3, 'c')], has_more: false }
    const older = withOlder(state, page)
    expect(older.messages.map(({ number }) => number)).toEqual([1, 2, 3, 4])
    expect(older.hasMore).toBe(false)
  })

  it('shows what was taken back as such', () => {
    const state = reduce(TURN.reduce(reduce, begin()), {
      type: 'checkpoint.restored',
      session: 's',
      seq: 11,
      checkpoint: 'x',
      turn: 1,
      conversation: true,
      rewound: [[1, 4]],
      undo: 'u1',
    })
    expect(rowsOf(state).filter((row) => row.rewound)).toHaveLength(5)
    expect(rowsOf(state).at(-1)).toMatchObject({ kind: 'note', note: { text: 'Went back to before turn 1.' } })
  })

  it('shows what a rewind took as part of the conversation again when the rewind was taken back', () => {
    const told = { session: 's', checkpoint: 'x', turn: 1, conversation: true }
    const back = reduce(TURN.reduce(reduce, begin()), {
      ...told,
      type: 'checkpoint.restored',
      seq: 11,
      rewound: [[1, 4]],
      undo: 'u1',
    })
    expect(rowsOf(back).at(-1)).toMatchObject({ kind: 'note', note: { undo: 'u1' } })
    const again = reduce(back, { ...told, type: 'checkpoint.restored', seq: 12, returned: [[1, 4]] })
    expect(rowsOf(again).filter((row) => row.rewound)).toHaveLength(0)
    expect(again.notes.map((note) => note.undo ?? '')).toEqual(['', ''])
  })

  it('keeps the end of a long output', () => {
    const started = TURN.slice(0, 9).reduce(reduce, begin())
    const text = 'x'.repeat(OUTPUT_KEPT)
    const full = [text, 'the end'].reduce(
      (state, piece) => reduce(state, { type: 'tool.output', session: 's', seq: 5, call_id: 'c1', text: piece }),
      started,
    )
    const call = full.calls.c1!
    expect(call.output).toHaveLength(OUTPUT_KEPT)
    expect(call.output.endsWith('the end')).toBe(true)
    expect(call.dropped).toBe(7)
  })

  it('shows a command that a person ran, which is no part of what was said', () => {
    const state = [
      { type: 'tool.started', session: 's', seq: 1, call_id: 'p1', tool: 'shell', arguments: { command: 'ls' } },
      { type: 'tool.output', session: 's', seq: 1, call_id: 'p1', text: 'a.py' },
    ].reduce((one, event) => reduce(one, event as AnyEvent), begin())
    expect(rowsOf(state)).toMatchObject([{ kind: 'tool', key: 'tp1', open: true, state: { output: 'a.py' } }])
  })

  it('asks for a person until somebody answers, or the turn ends', () => {
    const ask = { id: 'a', call_id: 'c', tool: 'shell', arguments: {}, summary: 'rm x' }
    const asking = reduce(begin(), { type: 'permission.requested', session: 's', seq: 1, ask })
    expect(asking.permissions).toEqual([ask])
    const answered: AnyEvent = { type: 'permission.resolved', session: 's', seq: 2, ask_id: 'a', decision: 'allow' }
    expect(reduce(asking, answered).permissions).toEqual([])
    const ended: AnyEvent = { type: 'turn.completed', session: 's', seq: 2, turn: 1, reason: 'cancelled' }
    expect(reduce(asking, ended).permissions).toEqual([])
    expect(reduce(asking, ended).ends[1]).toMatchObject({ reason: 'cancelled' })
  })

  it('shows how a turn ended below its last message, whether it was watched or is loaded later', () => {
    const error = { code: 'auth_failed' as const, message: 'The key is refused.', hint: 'Add another.' }
    const watched = [
      { type: 'turn.started', session: 's', seq: 1, turn: 1 },
      { type: 'message.added', session: 's', seq: 2, message: user(1, 'fix it') },
      { type: 'error', session: 's', seq: 3, error },
      { type: 'turn.completed', session: 's', seq: 4, turn: 1, reason: 'error', error },
      { type: 'message.added', session: 's', seq: 5, message: { ...user(2, 'again'), turn: 2 } },
    ].reduce((state, event) => reduce(state, event as AnyEvent), begin())
    const loaded = begin({ messages: watched.messages, turns: [{ turn: 1, reason: 'error', error }] })
    for (const state of [watched, loaded]) {
      const rows = rowsOf(state)
      expect(rows.map((row) => row.kind)).toEqual(['user', 'ended', 'user'])
      expect(rows[1]).toMatchObject({ end: { reason: 'error', error } })
    }
    expect(wordsForEnd(loaded.ends[1]!)).toEqual({ text: 'Failed: The key is refused.', next: 'Add another.' })
  })

  it('counts down to the next attempt until something comes of it, also for whoever comes later', () => {
    const error = { code: 'overloaded' as const, message: 'The engine is overloaded.' }
    const retrying = { provider: 'p', attempt: 2, max_attempts: 31, delay_s: 20, error, at: 5 }
    const waiting = reduce(begin(), { type: 'retry.scheduled', session: 's', seq: 1, ...retrying })
    for (const state of [waiting, begin({ retrying })]) {
      expect(rowsOf(state)).toMatchObject([{ kind: 'retrying', retrying }])
      expect(rowsOf(reduce(state, { type: 'status', session: 's', seq: 2, status: 'thinking' }))).toEqual([])
    }
  })

  it('offers to continue the newest turn alone, and forgets its end when it continues', () => {
    const info = { ...begin().info, status: 'idle' as const, turn_count: 2 }
    const messages = [user(1, 'one'), { ...user(2, 'two'), turn: 2 }]
    const turns = [
      { turn: 1, reason: 'error' as const },
      { turn: 2, reason: 'interrupted' as const },
    ]
    const state = begin({ info, messages, turns })
    expect(rowsOf(state).filter((row) => row.kind === 'ended')).toMatchObject([{ retry: false }, { retry: true }])
    const again = reduce(state, { type: 'turn.started', session: 's', seq: 1, turn: 2 })
    expect(rowsOf(again).filter((row) => row.kind === 'ended')).toMatchObject([{ end: { turn: 1 } }])
  })

  it('knows a call that waits for an answer from one that runs', () => {
    const call = { type: 'tool_call' as const, id: 'c', name: 'shell', arguments: { command: 'rm x' } }
    const said = { number: 1, role: 'assistant' as const, turn: 1, parts: [call] }
    const ask = { id: 'a', call_id: 'c', tool: 'shell', arguments: {}, summary: 'rm x' }
    const asking = begin({ messages: [said], permissions: [ask] })
    expect(rowsOf(asking)).toMatchObject([{ kind: 'tool', asking: true }])
    const denied = reduce(asking, { type: 'permission.resolved', session: 's', seq: 9, ask_id: 'a', decision: 'deny' })
    expect(rowsOf(denied)).toMatchObject([{ kind: 'tool', asking: false }])
  })

  it('forgets a queued message when it is said', () => {
    const queued = { id: 'q', parts: [{ type: 'text' as const, text: 'next' }], created_at: 1, op_id: 'o1' }
    const waiting = reduce(begin(), { type: 'message.queued', session: 's', seq: 1, queued })
    const inLine = reduce(waiting, { type: 'turn.waiting', session: 's', seq: 1, place: 3, waiting: 4, at_once: 2 })
    expect([inLine.inLine, inLine.notes]).toEqual([{ place: 3, waiting: 4 }, []])
    expect(reduce(inLine, { type: 'turn.started', session: 's', seq: 2, turn: 1 }).inLine).toBeNull()
    expect(
      reduce(inLine, { type: 'queue.changed', session: 's', seq: 2, queued: [queued], held: true }).inLine,
    ).toBeNull()
    expect(waiting.queued).toHaveLength(1)
    const said: AnyEvent = { type: 'message.added', session: 's', seq: 2, op_id: 'o1', message: user(1, 'next') }
    expect(reduce(waiting, said).queued).toEqual([])
  })
})
