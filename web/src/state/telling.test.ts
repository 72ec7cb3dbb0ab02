import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import type { AnyEvent } from '@/protocol/types'
import { saidOf } from './telling'

/** The same as the terminal's clients are held to (tests/protocol/test_telling.py). */
const cases: { event: AnyEvent; lines: string[] }[] = JSON.parse(
  readFileSync(new URL('../../../tests/protocol/told.json', import.meta.url), 'utf8'),
)

test.each(cases)('people are told of $event.type', ({ event, lines }) => {
  expect(saidOf(event).map(({ tone, text, hint }) => `${tone} ${text} ${hint}`.trim())).toEqual(lines)
})
