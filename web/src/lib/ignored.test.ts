import { expect, it } from 'vitest'
import type { ChangedFile } from '@/protocol/types'
import { countWords } from './ignored'

const file = (ignored: boolean): ChangedFile => ({ path: 'a', status: 'M', ignored })

it('counts what git ignores apart', () => {
  expect(countWords([])).toBe('0 files')
  expect(countWords([file(false), file(true)])).toBe('1 file and 1 ignored one')
  expect(countWords([file(false), file(false), file(true), file(true)])).toBe('2 files and 2 ignored ones')
  expect(countWords([file(true)])).toBe('1 ignored file')
})
