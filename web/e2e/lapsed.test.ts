import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { expect, it, onTestFinished } from 'vitest'
import { violationsOn } from './axe'
import { House } from './house'
import { ask } from './line'

const touch = { tool_calls: [{ name: 'shell', arguments: { command: 'touch made' } }] }
const SCRIPT = {
  conversations: [
    { match: 'quick', steps: [touch, { text: 'I could not.' }, touch, { text: 'It is made.' }] },
    { match: 'stands', steps: [touch, { text: 'It stands.' }] },
  ],
}

const open = async (config = '') => {
  const house = await House.open(SCRIPT, config)
  onTestFinished(() => house.close())
  return house
}
const say = async (house: House, name: string, said: string) => {
  const made = await house.session({ name, mode: 'ask' })
  await ask(join(house.home, 'data'), 'message.send', { session: made.id, text: said })
  return made
}
const photograph = async (page: Page, name: string) => {
  if (process.env.SHOTS) await page.screenshot({ path: join(process.env.SHOTS, `${name}.png`) })
}

it('keeps what nobody answered in time under what needs the person, and asks again', async () => {
  const house = await open('[limits]\nask_timeout = 4\n')
  const page = await house.visit('/')
  const { path } = await say(house, 'nobody was here', 'quick')
  const needs = page.getByRole('list', { name: 'Needs you' })
  await needs.getByText('Run this command?').waitFor()
  await needs.getByText('Nobody answered in time, so this was not done').waitFor()
  await needs.getByText('run touch made').waitFor()
  await photograph(page, 'lapsed-dashboard')
  for (const theme of ['dark', 'light'] as const) {
    await page.evaluate((name) => document.documentElement.setAttribute('data-mantine-color-scheme', name), theme)
    expect(await violationsOn(page)).toEqual([])
  }
  await page.goto(house.url + path)
  await page.getByRole('button', { name: 'Let it go' }).waitFor()
  await photograph(page, 'lapsed-session')
  await page.getByRole('button', { name: 'Ask again' }).click()
  await page.getByText('Run this command?').waitFor()
  expect(await page.getByRole('button', { name: 'Ask again' }).count()).toBe(0)
  await photograph(page, 'lapsed-asked-again')
  await page.getByRole('button', { name: /^Once/ }).click()
  await page.getByText('It is made.').waitFor()
  expect(existsSync(join(house.workspace, 'made'))).toBe(true)
})

it('shows what is asked again after a restart under what needs the person', async () => {
  const house = await open()
  await say(house, 'it stands', 'stands')
  const page = await house.visit('/')
  const needs = page.getByRole('list', { name: 'Needs you' })
  await needs.getByText('Run this command?').waitFor()
  await house.stopDaemon('SIGKILL')
  await page.getByText('The daemon cannot be reached').waitFor()
  await house.startDaemon()
  // While it connects, the page still shows what was asked before.
  await page.getByText(/The daemon cannot|Connecting to the daemon/).waitFor({ state: 'detached' })
  await needs.getByText('Run this command?').waitFor()
  await photograph(page, 'asked-after-restart')
  await needs.getByRole('button', { name: /^Once/ }).click()
  await page.getByText('It stands.').waitFor()
  expect(existsSync(join(house.workspace, 'made'))).toBe(true)
})
