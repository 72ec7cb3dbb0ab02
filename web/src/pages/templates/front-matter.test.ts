import { expect, it } from 'vitest'
import type { Template } from '@/protocol/types'
import { markdownOf, templateOf } from './front-matter'

it('reads back what it wrote', () => {
  const template: Template = {
    name: 'reviewer',
    description: '# reads: "everything", says #little',
    role: 'review',
    model: 'anthropic/claude',
    tools: ['read_file', 'grep'],
    mode: 'plan',
    max_steps: 12,
    budget_usd: 0.5,
    prompt: 'Read it.\n\n---\n\nThen say what is wrong.',
  }
  expect(templateOf(markdownOf(template))).toEqual(template)
})

it('says what the form cannot show', () => {
  expect(() => templateOf('no front matter')).toThrow('front matter')
  expect(() => templateOf('---\nname: a\nhooks: x\n---\n')).toThrow('hooks')
  expect(() => templateOf('---\nname: a\nmode: wild\n---\n')).toThrow('no mode')
})
