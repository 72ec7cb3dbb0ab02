import { expect, it } from 'vitest'
import { changed, draftOf, fromTemplate } from './draft'

it('sends only what is another now, and null for what was emptied', () => {
  const before = draftOf({ settings: { mode: 'ask', budget_usd: 5, instructions: 'Be brief.' } })
  expect(changed(before, before)).toEqual({})
  expect(changed(before, { ...before, budget_usd: null, temperature: 0.2 })).toEqual({
    budget_usd: null,
    temperature: 0.2,
  })
})

it('takes of a template what it says and leaves what it does not', () => {
  expect(fromTemplate({ name: 'reviewer', prompt: 'You review.', mode: 'plan', budget_usd: null })).toEqual({
    instructions: 'You review.',
    mode: 'plan',
  })
})
