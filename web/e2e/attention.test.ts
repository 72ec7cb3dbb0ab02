import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { violationsOn } from './axe'
import { House } from './house'
import { ask } from './line'

const call = (name: string, given: Record<string, unknown>) => ({ name, arguments: given })
const SCRIPT = {
  conversations: [
    {
      match: 'touch it',
      steps: [{ tool_calls: [call('shell', { command: 'touch made' })] }, { text: 'Touched.' }],
    },
    {
      match: 'change it',
      steps: [
        { tool_calls: [call('edit_file', { path: 'greeting.txt', old: 'hello', new: 'good day' })] },
        { text: '## Done\n\n- the **greeting** is `polite` now' },
      ],
    },
    { match: 'hang on', steps: [{ text: 'Half of it', chunk_chars: 4, fault: { name: 'stall', after: 1 } }] },
    { match: { last_user: 'fail at it' }, steps: [{ text: '', fault: '401' }], loop: true },
    { steps: [{ text: 'All done.' }], loop: true },
  ],
}

let house: House

beforeAll(async () => {
  house = await House.open(SCRIPT)
  writeFileSync(join(house.workspace, 'greeting.txt'), 'hello\n')
})
afterAll(() => house.close())

const say = async (name: string, text: string, mode: 'ask' | 'full' = 'full') => {
  const made = await house.session({ name, mode })
  await ask(join(house.home, 'data'), 'message.send', { session: made.id, text })
  return made
}
const group = (page: Page, name: string) => page.getByRole('list', { name, exact: true }).getByRole('listitem')
const icon = (page: Page) => page.locator('link[rel="icon"]').getAttribute('href')

it('sorts sessions by who has to act, counts what needs the person everywhere alike, and puts sessions away', async () => {
  await house.session({ name: 'older work' })
  const page = await house.visit('/')
  await page.getByRole('list', { name: 'project' }).getByText('older work').waitFor()
  await say('asks first', 'touch it', 'ask')
  await say('has no key', 'fail at it')
  await say('at work', 'hang on')
  await say('finished', 'change it')
  const needs = page.getByRole('list', { name: 'Needs you' })
  await needs.getByText('Run this command?').waitFor()
  await needs.getByText(/^Failed: /).waitFor()
  await needs.getByRole('link', { name: 'Look at keys and logins' }).waitFor()
  await group(page, 'Running').getByText('at work').waitFor()
  const done = group(page, 'Done since you looked').filter({ hasText: 'finished' })
  await done.getByText('the greeting is polite now').waitFor()
  await done.getByText('greeting.txt').waitFor()
  await done.getByText('scripted/one').waitFor()
  expect(await done.getByRole('link', { name: 'Review' }).getAttribute('href')).toContain('tab=review')
  expect(await done.locator('.card-cost').innerText()).toBe('$?')
  await expect.poll(() => page.title()).toBe('(2) Sessions · OpenAgent')
  expect(decodeURIComponent((await icon(page)) ?? '')).toContain('>2</text>')
  expect(await page.locator('.figures').innerText()).toMatch(/2 need you\s+1 running/)
  await page.getByRole('region', { name: 'System' }).getByText('1 running, 2 need you').waitFor()
  for (const theme of ['dark', 'light'] as const) {
    await page.evaluate((name) => document.documentElement.setAttribute('data-mantine-color-scheme', name), theme)
    expect(await violationsOn(page)).toEqual([])
  }

  await needs.getByRole('button', { name: /^Once/ }).click()
  await group(page, 'Done since you looked').getByText('Touched.').waitFor()
  await needs.getByRole('button', { name: 'Seen' }).click()
  await needs.waitFor({ state: 'detached' })
  await expect.poll(() => page.title()).toBe('Sessions · OpenAgent')
  await expect.poll(() => icon(page)).toBe('/icon.svg')

  await page.getByRole('button', { name: 'Choose' }).click()
  await page.getByRole('checkbox', { name: 'Choose older work' }).check()
  await page.getByRole('checkbox', { name: 'Choose has no key' }).check()
  await page.getByRole('toolbar').getByRole('button', { name: 'Archive' }).click()
  await page.getByRole('button', { name: '2 archived' }).click()
  await group(page, 'Archived').getByText('older work').waitFor()
  await page.getByRole('button', { name: 'Choose' }).click()
  await page.getByRole('checkbox', { name: 'Choose has no key' }).check()
  await page.getByRole('button', { name: 'Delete …' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
  await page.getByRole('button', { name: 'Hide what is archived' }).waitFor()
  await expect.poll(() => group(page, 'Archived').count()).toBe(1)
})

it('keeps what is typed while the palette loads', async () => {
  const page = await house.visit('/')
  await page.route(/\/Palette-.*\.js/, async (route) => {
    await new Promise((resolve) => setTimeout(resolve, 1_000))
    await route.continue()
  })
  const { path } = await say('typed at once', 'say something')
  await page.goto(`${house.url}${path}`)
  const composer = page.getByRole('textbox', { name: 'Message' })
  await composer.click()
  await page.keyboard.press('Control+k')
  await page.keyboard.type('between dark', { delay: 5 })
  const search = page.getByPlaceholder('Search sessions, pages and commands …')
  await search.waitFor()
  await page.locator('.mantine-Spotlight-action', { hasText: 'Switch between dark and light' }).waitFor()
  await page.keyboard.type(' and')
  await expect.poll(() => search.inputValue()).toBe('between dark and')
  expect(await page.locator('.palette-field').count()).toBe(0)
  await page.keyboard.press('Escape')
  await search.waitFor({ state: 'detached' })
  expect(await composer.inputValue()).toBe('')
  expect(await composer.evaluate((element) => element === document.activeElement)).toBe(true)
  await page.close()
})

it('calls back who looks elsewhere when it was asked to, and does with the palette what a session can', async () => {
  const page = await house.visit('/')
  // What ended before the page knew of it counts as looked at.
  await page.getByText('finished', { exact: true }).first().waitFor()
  await page.evaluate(() => {
    const told: string[] = []
    class Recorded {
      static permission = 'granted'
      static requestPermission = async () => 'granted'
      constructor(title: string, { body }: { body: string }) {
        told.push(`${title}: ${body}`)
      }
    }
    Object.assign(window, { Notification: Recorded, told })
    document.hasFocus = () => false
  })
  const told = () => page.evaluate(() => (window as unknown as { told: string[] }).told)
  await say('quiet', 'say something')
  await group(page, 'Done since you looked').getByText('quiet').waitFor()
  expect(await told()).toEqual([])
  await page.getByRole('button', { name: 'Tell me when a session needs me or is done' }).click()
  await page.getByRole('button', { name: 'Stop telling me when a session needs me' }).waitFor()
  const { path } = await say('publisher', 'touch it', 'ask')
  await expect.poll(told).toEqual(['publisher needs you: touch made'])

  await page.getByRole('link', { name: 'publisher' }).click()
  await page.waitForURL(`${house.url}${path}`)
  await page.keyboard.press('Control+k')
  const search = page.getByPlaceholder('Search sessions, pages and commands …')
  await search.fill('mode plan')
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: 'mode plan' }).waitFor()
  await page.keyboard.press('Control+k')
  await search.fill('rename')
  await page.keyboard.press('Enter')
  await page.getByLabel('Name of the session').fill('the publisher')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'the publisher' }).waitFor()
  await page.keyboard.press('Control+k')
  await search.fill('')
  for (const label of ['Fork this session', 'Export as Markdown', 'Open its terminal', 'Archive this session'])
    await page.getByRole('button', { name: label }).waitFor()
  expect(await violationsOn(page)).toEqual([])
})
