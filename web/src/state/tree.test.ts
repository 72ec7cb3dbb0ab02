import { expect, it } from 'vitest'
import { emptyOverview, reduceOverview, withTold } from './overview'
import { costBy, spentBy } from './tree'

const card = (id: string, parent: string | null, cost: number) => ({
  info: { id, parent, usage: { cost_usd: cost } },
  unlisted: { usd: 0, unpriced: 0 },
})

it('counts a session with all that work for it, at any depth, and with nobody else', () => {
  const cards = {
    top: card('top', null, 1),
    child: card('child', 'top', 0.5),
    grandchild: card('grandchild', 'child', 0.25),
    other: card('other', null, 8),
  }
  expect(spentBy(cards, 'top')).toBe(1.75)
  expect(spentBy(cards, 'child')).toBe(0.75)
  expect(spentBy(cards, 'other')).toBe(8)
  expect(spentBy(cards, 'unknown')).toBe(0)
})

it('ends where sessions work for each other in a ring', () => {
  expect(spentBy({ a: card('a', 'b', 1), b: card('b', 'a', 2) }, 'a')).toBe(3)
})

it('counts those that are not listed, too, once, as the daemon tells it', () => {
  const info = (id: string, cost: number, more = {}) => ({
    ...{ id, name: id, cwd: '/w', created_at: 1, updated_at: 1, usage: { cost_usd: cost } },
    ...more,
  })
  const listed = withTold(emptyOverview, [info('top', 1, { below_usd: 9 }), info('child', 2, { parent: 'top' })], true)
  expect(spentBy(listed.cards, 'top')).toBe(10)
  const grown = reduceOverview(listed, {
    type: 'usage.updated',
    session: 'child',
    seq: 2,
    at: 2,
    usage: { cost_usd: 3, unpriced: 1 },
  })
  expect(costBy(grown.cards, 'top')).toBe('$11.00+?')
  expect(spentBy(grown.cards, 'child')).toBe(3)
})
