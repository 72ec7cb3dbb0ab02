import { expect, it } from 'vitest'
import type { SessionInfo } from '@/protocol/types'
import { cardOf } from '../overview'
import { byProject, sorted } from './sorting'

const session = (id: string, more: Partial<SessionInfo> = {}) =>
  cardOf({ id, name: id, cwd: '/w', created_at: 1, updated_at: 100, turn_count: 1, ...more })
const looked = { since: 50, at: { seen: 100, before: 90 } }
const theirs = { agent: 'claude', title: 'Claude Code', id: '1', path: '/p', messages: 4 } as const
const names = (cards: { info: SessionInfo }[]) => cards.map(({ info }) => info.id)

it('sorts sessions by who has to act, and shows none twice', () => {
  const all = [
    session('asks', { status: 'waiting_approval' }),
    session('failed', { status: 'error', updated_at: 200 }),
    session('cut-short', { status: 'interrupted', updated_at: 190 }),
    session('nobody-answered', { status: 'unanswered', updated_at: 30 }),
    session('works', { status: 'thinking' }),
    session('helps', { status: 'waiting_approval', parent: 'works' }),
    session('before', { updated_at: 95 }),
    session('seen'),
    session('seen-failed', { status: 'error', updated_at: 40 }),
    session('old', { updated_at: 40 }),
    session('untouched', { turn_count: 0 }),
    session('away', { archived: true }),
    session('theirs', { message_count: 4, origin: theirs }),
    session('theirs-went-on', { message_count: 6, origin: theirs, updated_at: 30 }),
    session('theirs-at-work', { message_count: 4, origin: theirs, status: 'thinking', updated_at: 80 }),
    session('away-at-work', { archived: true, status: 'thinking', updated_at: 90 }),
  ]
  const found = sorted(Object.fromEntries(all.map((card) => [card.info.id, card])), looked)
  expect(names(found.needsYou)).toEqual(['asks', 'failed', 'cut-short', 'nobody-answered'])
  expect(names(found.running)).toEqual(['works', 'away-at-work', 'theirs-at-work'])
  expect(names(found.done)).toEqual(['before'])
  expect(names(found.rest)).toEqual(['seen', 'untouched', 'seen-failed', 'old', 'theirs-went-on'])
  expect(names(found.brought)).toEqual(['theirs'])
  expect(names(found.archived)).toEqual(['away'])
})

it('groups the rest by project, the one worked in last first', () => {
  const groups = byProject([session('a', { cwd: '/x' }), session('b', { cwd: '/y' }), session('c', { cwd: '/x' })])
  expect(groups.map(([folder, cards]) => [folder, names(cards)])).toEqual([
    ['/x', ['a', 'c']],
    ['/y', ['b']],
  ])
})
