import { expect, it } from 'vitest'
import type { ChangedFile } from '@/protocol/types'
import { restoredWords } from './rewound'

const file = (path: string, old_path = ''): ChangedFile => ({ path, old_path, status: old_path ? 'R' : 'M' })

it('says the number that the preview said, folders and both names of a moved file not counted twice', () => {
  const previewed = [file('a.txt'), file('new/b.txt'), file('new.txt', 'old.txt')]
  const done = { turn: 1, written: ['a.txt', 'old.txt'], removed: ['new', 'new/b.txt', 'new.txt'] }
  expect(restoredWords(previewed, done)).toBe('3 files are as before.')
  expect(restoredWords(previewed, { turn: 1, written: ['a.txt'] })).toBe('1 of 3 files are as before.')
  expect(restoredWords([file('a.txt')], { turn: 1, written: ['a.txt'] })).toBe('1 file is as before.')
  expect(restoredWords([], { turn: 1 })).toBe('No file had to change.')
})
