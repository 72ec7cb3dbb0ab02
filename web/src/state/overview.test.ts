import { expect, it } from 'vitest'
import type { AnyEvent, SessionInfo } from '@/protocol/types'
import { emptyOverview, reduceOverview, withAsks, withSessions } from './overview'

const info = (id: string, more: Partial<SessionInfo> = {}): SessionInfo => ({
  id,
  name: id,
  cwd: '/w',
  created_at: 1,
  updated_at: 1,
  ...more,
})

const after = (events: AnyEvent[]) => events.reduce(reduceOverview, withSessions(emptyOverview, [info('a')], true))

it('follows a session through a turn', () => {
  const running = after([
    { type: 'turn.started', session: 'a', seq: 2, at: 5, turn: 1 },
    { type: 'status', session: 'a', seq: 3, at: 6, status: 'executing_tool', detail: 'shell' },
    { type: 'usage.updated', session: 'a', seq: 4, at: 7, usage: { context_tokens: 120, cost_usd: 0.5 } },
  ])
  expect(running.cards.a).toMatchObject({
    line: 'shell',
    turnStartedAt: 5,
    pulse: [120],
    info: { status: 'executing_tool' },
  })
  const done = reduceOverview(running, {
    type: 'turn.completed',
    session: 'a',
    seq: 5,
    turn: 1,
    reason: 'done',
    text: 'All good.',
  })
  expect(done.cards.a).toMatchObject({ line: 'All good.', turnStartedAt: null, info: { status: 'idle' } })
})

it('knows what waits for a person', () => {
  const ask = { id: 'p', call_id: 'c', tool: 'shell', arguments: {}, summary: 'rm x' }
  const waiting = after([{ type: 'permission.requested', session: 'a', seq: 2, ask }])
  expect(waiting.cards.a).toMatchObject({ asks: [ask], info: { status: 'waiting_approval' } })
  const answered = reduceOverview(waiting, {
    type: 'permission.resolved',
    session: 'a',
    seq: 3,
    ask_id: 'p',
    decision: 'deny',
  })
  expect(answered.cards.a?.asks).toEqual([])
})

it('learns with the list what was asked before, and keeps what it heard itself', () => {
  const ask = (id: string) => ({ id, call_id: 'c', tool: 'shell', arguments: {}, summary: id })
  const pending = ['a', 'b', 'c'].map((session) => ({
    ...{ id: `old-${session}`, session, name: session, cwd: '/w', at: 1 },
    permission: ask(`old-${session}`),
  }))
  const listed = withSessions(
    emptyOverview,
    [info('a', { status: 'waiting_approval' }), info('b', { status: 'waiting_approval' }), info('c')],
    true,
  )
  const heard = reduceOverview(listed, { type: 'permission.requested', session: 'b', seq: 2, ask: ask('new') })
  const { a, b, c } = withAsks(heard, pending).cards
  expect(a?.asks).toEqual([ask('old-a')])
  expect(b?.asks).toEqual([ask('new')])
  expect(c?.asks).toEqual([])
})

it('hears of sessions that come and go, and ignores those it does not know', () => {
  const two = after([{ type: 'session.created', session: 'b', seq: 1, info: info('b') }])
  expect(Object.keys(two.cards)).toEqual(['a', 'b'])
  expect(Object.keys(reduceOverview(two, { type: 'session.deleted', session: 'a' }).cards)).toEqual(['b'])
  expect(reduceOverview(two, { type: 'status', session: 'zzz', seq: 9, status: 'idle' })).toBe(two)
})

it('keeps what is newer than a list that was asked for earlier', () => {
  const newer = after([{ type: 'status', session: 'a', seq: 7, status: 'thinking' }])
  const listed = withSessions(newer, [info('a', { seq: 3, status: 'idle' })], true)
  expect(listed.cards.a?.info.status).toBe('thinking')
})

it('takes a new name also when it was put together before the last number was given out', () => {
  const busy = after([{ type: 'status', session: 'a', seq: 7, status: 'thinking' }])
  const named = reduceOverview(busy, {
    type: 'session.updated',
    session: 'a',
    seq: 8,
    info: info('a', { seq: 6, name: 'fix it' }),
  })
  expect(named.cards.a?.info).toMatchObject({ name: 'fix it', seq: 8 })
})
