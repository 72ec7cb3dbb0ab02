import { expect, it } from 'vitest'
import { filledAddress, isFilled, parametersOf, promptCommand } from './prompt-command'

const REVIEW = { server: 'shop', name: 'review', arguments: [{ name: 'title', required: true }, { name: 'tone' }] }

it('writes a prompt as a person would, with quotes where words have spaces', () => {
  expect(promptCommand(REVIEW, { title: 'one', tone: ' ' })).toBe('/shop:review title=one')
  expect(promptCommand(REVIEW, { title: 'one two', tone: 'kind' })).toBe("/shop:review 'title=one two' tone=kind")
  expect(promptCommand(REVIEW, { title: 'it\'s "it"' })).toBe('/shop:review "title=it\'s \\"it\\""')
})

it('wants what is required', () => {
  expect(isFilled(REVIEW, { tone: 'kind' })).toBe(false)
  expect(isFilled(REVIEW, { title: 'one' })).toBe(true)
})

it('fills in the parameters of an address', () => {
  expect(parametersOf('book://{author}/{title}')).toEqual(['author', 'title'])
  expect(filledAddress('book://{author}/{title}', { title: 'a b', author: '' })).toBe('book://{author}/a%20b')
})
