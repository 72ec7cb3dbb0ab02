import { expect, test } from 'vitest'
import { vendors, whose } from './keys'

const LOOKS = [
  { prefix: 'sk-', provider: 'openai', title: 'OpenAI' },
  { prefix: 'sk-proj-', provider: 'openai', title: 'OpenAI' },
  { prefix: 'sk-ant-', provider: 'anthropic', title: 'Anthropic' },
]

test('the longest beginning that fits tells whose a key is', () => {
  expect(whose(LOOKS, ' sk-ant-api03-1')?.provider).toBe('anthropic')
  expect(whose(LOOKS, 'sk-1')?.provider).toBe('openai')
  expect(whose(LOOKS, 'AIza')).toBeNull()
})

test('each vendor is listed once', () => {
  expect(vendors(LOOKS)).toEqual([
    { value: 'openai', label: 'OpenAI' },
    { value: 'anthropic', label: 'Anthropic' },
  ])
})
