import { expect, it } from 'vitest'
import { afterSaving, editingOf, typed } from './editing'

const standing = { text: 'one', version: 'v1', gone: false }
const gone = { text: '', version: '', gone: true }
const draft = { text: 'mine', version: 'v1', at: 1 }

it('knows an edit from a conflict', () => {
  expect(editingOf(standing, null)).toBe('same')
  expect(editingOf(standing, draft)).toBe('edited')
  expect(editingOf({ ...standing, text: 'theirs', version: 'v2' }, draft)).toBe('conflict')
  expect(editingOf({ ...standing, text: 'mine', version: 'v2' }, draft)).toBe('same')
  expect(editingOf(gone, draft)).toBe('conflict')
  expect(editingOf(gone, { ...draft, version: '' })).toBe('edited')
})

it('keeps what differs, with the version that it began with', () => {
  expect(typed(standing, null, 'one', 2)).toBeNull()
  expect(typed(standing, null, 'two', 2)).toEqual({ text: 'two', version: 'v1', at: 2 })
  const theirs = { text: 'theirs', version: 'v2', gone: false }
  expect(typed(theirs, draft, 'mine!', 3)).toEqual({ text: 'mine!', version: 'v1', at: 3 })
  expect(typed(theirs, draft, 'theirs', 3)).toEqual({ text: 'theirs', version: 'v1', at: 3 })
})

it('keeps what was typed while a save was on its way', () => {
  expect(afterSaving(draft, 'mine', 'v2')).toBeNull()
  expect(afterSaving({ ...draft, text: 'mine and more' }, 'mine', 'v2')).toEqual({
    text: 'mine and more',
    version: 'v2',
    at: 1,
  })
})
