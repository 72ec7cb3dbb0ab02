import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { House } from './house'
import { ask } from './line'

/** A turn costs three cents. */
const SCRIPT = { conversations: [{ steps: [{ text: 'Good day.', usage: { input: 10_000, output: 0 } }], loop: true }] }
const SETTINGS = `
[budget]
session_usd = 0.1
[prices."scripted/one"]
input = 3.0
output = 15.0
`

let house: House

beforeAll(async () => {
  house = await House.open(SCRIPT, SETTINGS)
})
afterAll(() => house.close())

const dialog = (page: Page) => page.getByRole('dialog')
const answers = (page: Page) => page.getByRole('article', { name: 'The agent said' })
const seen = async (page: Page, name: string) => {
  if (process.env.SHOTS) await page.screenshot({ path: join(process.env.SHOTS, `${name}.png`) })
}
const say = async (page: Page, text: string) => {
  await page.getByLabel('Message', { exact: true }).fill(text)
  await page.keyboard.press('Enter')
}

it('writes a template whose prompt is the whole one, and has a live session go on as it', async () => {
  const page = await house.visit('/templates')
  await page.getByRole('button', { name: 'New template' }).click()
  await dialog(page).getByLabel('Name').fill('pirate')
  await dialog(page).getByLabel('Prompt', { exact: true }).fill('You are a pirate.')
  await dialog(page).getByText('Added to the system prompt.').waitFor()
  await dialog(page).getByRole('switch', { name: 'The prompt is the whole system prompt' }).check()
  await dialog(page).getByText('In place of the system prompt.').waitFor()
  await seen(page, 'template')
  await dialog(page).getByRole('radio', { name: 'Markdown' }).click()
  const raw = dialog(page).getByLabel('Markdown with front matter')
  expect(await raw.inputValue()).toContain('replace_prompt: true')
  await dialog(page).getByRole('radio', { name: 'Form' }).click()
  expect(await dialog(page).getByRole('switch', { name: 'The prompt is the whole system prompt' }).isChecked()).toBe(
    true,
  )
  await dialog(page).getByRole('button', { name: 'Save' }).click()
  await page.getByRole('listitem').filter({ hasText: 'pirate' }).waitFor()

  const { id, path } = await house.session()
  const live = await house.visit(path)
  const settings = async () => (await ask(join(house.home, 'data'), 'session.get', { session: id })).settings
  await say(live, '/persona')
  await live.getByText('Write a template after it, or none.').waitFor()
  await say(live, '/persona nobody')
  await live.getByText(/no template 'nobody'/).waitFor()
  await say(live, '/persona pirate')
  await live.getByText('Now as pirate, from the next step on.').waitFor()
  expect(await settings()).toMatchObject({ instructions: 'You are a pirate.', replace_prompt: true })
  await seen(live, 'persona')
  await say(live, '/persona none')
  await live.getByText('No persona, from the next step on.').waitFor()
  expect((await settings())?.replace_prompt ?? false).toBe(false)
})

it('shows what may be spent from the beginning, and warns before it is used up', async () => {
  const { path } = await house.session()
  const page = await house.visit(path)
  const spend = page.locator('.spend')
  await spend.getByText('/$0.10').waitFor()
  expect(await spend.getAttribute('class')).not.toContain('spend-near')
  await seen(page, 'budget-fresh')
  for (const turn of [1, 2, 3]) {
    await say(page, `turn ${turn}`)
    await answers(page)
      .nth(turn - 1)
      .waitFor()
  }
  await page.getByText(/of the session’s|of the session's/).waitFor()
  await page.locator('.spend-near').waitFor()
  expect(await page.getByText('is used up').count()).toBe(0)
  await seen(page, 'budget-warned')
})
