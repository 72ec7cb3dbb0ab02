import { expect, it } from 'vitest'
import { placeFrom } from './place'

const told = (search: Record<string, unknown>) =>
  Object.fromEntries(Object.entries(placeFrom(search)).filter(([, value]) => value !== undefined))

it('takes from an address what it knows and leaves the rest', () => {
  expect(told({ beside: 'files', file: 'a.py', line: 3, other: 1 })).toEqual({ beside: 'files', file: 'a.py', line: 3 })
  expect(told({ tab: 'nowhere', beside: 'nothing', line: -1, file: 7 })).toEqual({})
  expect(told({ tab: 'terminal' })).toEqual({ tab: 'terminal' })
  expect(told({ beside: 'agent', agent: 'x', at: 4 })).toEqual({ beside: 'agent', agent: 'x', at: 4 })
})

it('shows one thing when an address names two', () => {
  expect(told({ tab: 'files', beside: 'terminal' })).toEqual({ beside: 'terminal' })
})
