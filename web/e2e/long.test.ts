import { afterAll, beforeAll, expect, it } from 'vitest'
import { House } from './house'

let house: House

beforeAll(async () => {
  house = await House.open([{ text: 'Hello.' }])
})
afterAll(() => house.close())

it('shows the end of a long session, keeps few of its rows on the page, and pages back without jumping', async () => {
  const { path } = await house.longSession(5000)
  const page = await house.visit(path)
  await page.getByText('Question 500:').waitFor()
  const rows = page.locator('.chat-row')
  expect(await rows.count()).toBeLessThan(80)

  const chat = page.getByRole('region', { name: 'Conversation' })
  await chat.focus()
  const first = () => rows.first().getAttribute('data-index')
  const seen = new Set<string>()
  for (let step = 0; step < 120 && seen.size < 24; step += 1) {
    await page.mouse.move(700, 400)
    await page.mouse.wheel(0, -500)
    await page.waitForTimeout(50)
    for (const text of await page.locator('[data-kind="user"]').allInnerTexts()) {
      const question = /Question (\d+):/.exec(text)?.[1]
      if (question) seen.add(question)
    }
  }
  expect(await rows.count()).toBeLessThan(80)
  // Every question between the last and the oldest one seen went by: none was lost or shown twice at a page's edge.
  const numbers = [...seen].map(Number).sort((one, other) => one - other)
  expect(numbers).toEqual(Array.from({ length: numbers.length }, (_, index) => numbers[0]! + index))
  expect(numbers.length).toBeGreaterThan(15)
  expect(await first()).not.toBeNull()
  await page
    .getByRole('button', { name: /to the end|new/ })
    .last()
    .click()
  await page.getByText('Question 500:').waitFor()
})
