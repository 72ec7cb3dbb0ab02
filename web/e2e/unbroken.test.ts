import { afterAll, beforeAll, expect, it } from 'vitest'
import { violationsOn } from './axe'
import { House } from './house'
import { WHOLE } from './whole-markdown'

let house: House

beforeAll(async () => {
  house = await House.open([{ text: WHOLE }])
})
afterAll(() => house.close())

it('goes to pages that were loaded beforehand while the daemon is away, and fills them when it is back', async () => {
  const page = await house.visit('/')
  await page.getByRole('heading', { name: 'Sessions', exact: true }).first().waitFor()
  // What is fetched last: dialogs and menus of the session page.
  await page.waitForFunction(() => performance.getEntriesByType('resource').some(({ name }) => name.includes('Rewind')))
  await page.waitForLoadState('networkidle')
  await house.stopDaemon('SIGKILL')
  await page.getByText('The daemon cannot be reached').waitFor()
  for (const [key, name] of [
    ['o', 'Tools'],
    ['a', 'Audit'],
    ['t', 'Tasks'],
  ] as const) {
    await page.keyboard.press('g')
    await page.keyboard.press(key)
    await page.getByRole('heading', { name, exact: true }).first().waitFor()
  }
  await house.startDaemon()
  // Unless it comes back by itself before anybody can ask for it.
  await page
    .getByRole('button', { name: 'Try now' })
    .click({ timeout: 3_000 })
    .catch(() => {})
  await page.getByText('No tasks yet').waitFor()
  expect(await page.getByText('This page broke').count()).toBe(0)
})

it('waits for a page that was not loaded yet, says so, and opens it when the daemon is back', async () => {
  const page = await house.visit('/')
  await page.addInitScript(() => {
    window.requestIdleCallback = () => 0
  })
  await page.reload()
  await page.getByRole('heading', { name: 'Sessions', exact: true }).first().waitFor()
  await page.waitForLoadState('networkidle')
  await house.stopDaemon('SIGKILL')
  await page.getByText('The daemon cannot be reached').waitFor()
  await page.keyboard.press('g')
  await page.keyboard.press('o')
  await page.getByText('Waiting for the daemon').waitFor()
  await page.keyboard.press('g')
  await page.keyboard.press('s')
  await page.getByRole('heading', { name: 'Sessions', exact: true }).first().waitFor()
  await page.keyboard.press('g')
  await page.keyboard.press('o')
  await page.getByText('Waiting for the daemon').waitFor()
  await house.startDaemon()
  const tryNow = page.getByRole('button', { name: 'Try now' })
  await tryNow.click({ timeout: 2000 }).catch(() => {}) // it may have tried by itself meanwhile
  await page.getByRole('heading', { name: 'Tools', exact: true }).first().waitFor()
  await page.getByText('read_file').first().waitFor()
})

it('takes the new version with the next page after an upgrade, and keeps what is being written', async () => {
  const { path } = await house.session({ name: 'through an upgrade' })
  const page = await house.visit(path)
  const message = page.getByLabel('Message', { exact: true })
  await message.fill('half a thought')
  await house.stopDaemon()
  house.upgrade()
  await house.startDaemon()
  await page.getByText('OpenAgent was updated').waitFor()
  expect(await message.inputValue()).toBe('half a thought')
  await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Tasks', exact: true }).click()
  await page.waitForFunction(() => [...document.scripts].some(({ src }) => src.includes('-next')))
  // The new version is at work: it has a line to the daemon, and no word of an update is left.
  await page.getByText('No tasks yet').waitFor()
  expect(await page.getByText('OpenAgent was updated').count()).toBe(0)
  await page.goBack()
  await message.waitFor()
  expect(await message.inputValue()).toBe('half a thought')
  await message.press('Enter')
  await page.getByRole('article', { name: 'The agent said' }).getByText('The end.').waitFor()
})

it('draws all of Markdown, inert, and fits it on a phone', async () => {
  const { path } = await house.session({ name: 'markdown' })
  const page = await house.visit(path, { viewport: { width: 390, height: 844 } })
  await page.getByLabel('Message', { exact: true }).fill('go')
  await page.keyboard.press('Enter')
  await page.getByText('The end.').waitFor()
  await page.getByRole('img', { name: /^Diagram/ }).waitFor()
  await page.locator('.md-maths .katex').waitFor()
  const answer = page.getByRole('article', { name: 'The agent said' })
  expect(await answer.getByRole('img', { name: 'done' }).count()).toBe(1)
  expect(await answer.getByRole('img', { name: 'to do' }).count()).toBe(2)
  expect(await answer.locator('input, script, a[href^="javascript"]').count()).toBe(0)
  await answer.getByText('costs $5 to $10 a day').waitFor()
  await answer.getByText('not drawn: Invalid mermaid header').waitFor()
  const table = answer.locator('.md-table')
  expect(await table.evaluate((box) => box.scrollWidth > box.clientWidth)).toBe(true)
  const code = answer.locator('pre').first()
  expect(await code.evaluate((box) => box.scrollWidth > box.clientWidth)).toBe(true)
  await answer.getByRole('button', { name: 'Wrap long lines' }).first().click()
  expect(await code.evaluate((box) => box.scrollWidth > box.clientWidth)).toBe(false)
  const wider = await page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth)
  expect(wider).toBe(false)
  expect(await violationsOn(page)).toEqual([])
})
