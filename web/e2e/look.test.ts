import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { violationsOn } from './axe'
import { House } from './house'
import { sameAsKept } from './pictures'

const call = (name: string, given: Record<string, unknown>) => ({ name, arguments: given })
const SCRIPT = {
  conversations: [
    {
      match: 'flaky',
      steps: [
        {
          thinking: 'One time in ten: a race, or the clock. I read the test first.',
          text: "I'll look at it first.",
          tool_calls: [
            call('todo', {
              plan: [
                { text: 'Reproduce', state: 'done' },
                { text: 'Find the race', state: 'active' },
                { text: 'Fix it' },
                { text: 'Verify' },
              ],
            }),
            call('read_file', { path: 'retry.py' }),
          ],
          usage: { input: 12_000, cached: 11_000, output: 320 },
        },
        {
          text: 'The clock is read **twice**: once for the deadline, once for the wait.\n\n```python\nwait = deadline - time.monotonic()  # may be < 0\n```\n\n| run | result |\n|---|---|\n| 1 | ok |\n| 2 | `TimeoutError` |\n\n1. clamp it\n2. run the tests',
          tool_calls: [
            call('edit_file', {
              path: 'retry.py',
              old: '    return deadline - now',
              new: '    return max(0.0, deadline - now)',
            }),
          ],
          usage: { input: 14_000, cached: 12_000, output: 410 },
        },
        {
          text: 'Now a package is missing.',
          tool_calls: [call('shell', { command: 'pip install freezegun && pytest -q' })],
        },
        { text: 'Done.' },
      ],
    },
    { steps: [{ text: 'All done: 14 files.' }], loop: true },
  ],
}

let house: House
let session: string

beforeAll(async () => {
  house = await House.open(SCRIPT)
  writeFileSync(
    join(house.workspace, 'retry.py'),
    'import time\n\n\ndef wait(deadline: float) -> float:\n    now = time.monotonic()\n    return deadline - now\n',
  )
  await house.session({ name: 'docs rewrite' })
  session = (await house.session({ name: 'fix flaky test', mode: 'edits', model: 'scripted/gpt-5' })).path
})
afterAll(() => house.close())

const PAGES: { name: string; path: () => string; ready: (page: Page) => Promise<void> }[] = [
  {
    name: 'session',
    path: () => session,
    ready: async (page) => {
      const asks = page.getByRole('region', { name: 'Permission needed' })
      if ((await page.getByText('Say what to do').or(asks).first().textContent())?.includes('Say what to do')) {
        await page.getByLabel('Message', { exact: true }).fill('Why is test_retry flaky?')
        await page.keyboard.press('Enter')
      }
      await asks.getByText('pip install').first().waitFor()
    },
  },
  { name: 'dashboard', path: () => '/', ready: (page) => page.getByText('pip install').first().waitFor() },
  {
    name: 'files',
    path: () => `${session}?tab=files&file=retry.py`,
    ready: (page) => page.locator('.view-line').first().waitFor(),
  },
  {
    name: 'terminal',
    path: () => `${session}?tab=terminal`,
    ready: (page) => page.locator('.xterm-rows').getByText('$').first().waitFor(),
  },
  {
    name: 'new-session',
    path: () => '/',
    ready: async (page) => {
      await page.getByRole('button', { name: 'New session' }).last().click()
      await page.getByRole('dialog').getByLabel('First message').waitFor()
    },
  },
  {
    name: 'palette',
    path: () => '/',
    ready: async (page) => {
      await page.getByRole('button', { name: /^Search sessions/ }).click()
      await page.getByPlaceholder('Search sessions, pages and commands …').waitFor()
    },
  },
  {
    name: 'keys',
    path: () => session,
    ready: async (page) => {
      await page.getByRole('button', { name: 'Shortcuts' }).click()
      await page.getByRole('dialog').getByText('Approve once').waitFor()
    },
  },
  { name: 'not-found', path: () => '/nowhere', ready: (page) => page.getByText('There is no such page').waitFor() },
]

/** The page is in this theme, and so is an editor on it. */
async function hasTaken(page: Page, theme: 'dark' | 'light'): Promise<void> {
  await page.locator(`html[data-mantine-color-scheme="${theme}"]`).waitFor()
  const other = theme === 'dark' ? '.monaco-editor.vs' : '.monaco-editor.vs-dark'
  await page.locator(other).first().waitFor({ state: 'detached' })
}

it.each(PAGES)('the $name page looks as it did and bars nobody, dark and light', async ({ name, path, ready }) => {
  const page = await house.visit(path())
  await ready(page)
  for (const theme of ['dark', 'light'] as const) {
    // As the system does it: editors and terminals draw their own colours, and hear of it.
    await page.emulateMedia({ colorScheme: theme })
    await hasTaken(page, theme)
    expect(await violationsOn(page, theme === 'dark' ? 'everything' : 'colours')).toEqual([])
    expect(await sameAsKept(page, `${name}-${theme}`)).toBe('')
  }
})

it.each([
  { name: 'phone', width: 390, height: 844 },
  { name: 'tablet', width: 820, height: 1180 },
  { name: '4k', width: 3840, height: 2160 },
])('fits a $name', async ({ name, width, height }) => {
  for (const [what, path] of [
    ['dashboard', '/'],
    ['session', session],
  ] as const) {
    const page = await house.visit(path, { viewport: { width, height } })
    await page.getByText('pip install').first().waitFor()
    // The question comes after the conversation, and the picture has both.
    if (what === 'session') await page.getByRole('region', { name: 'Permission needed' }).waitFor()
    const wider = await page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth)
    expect(wider).toBe(false)
    expect(await violationsOn(page)).toEqual([])
    expect(await sameAsKept(page, `${what}-${name}`)).toBe('')
  }
})

it('can be used with the keyboard alone', async () => {
  const page = await house.visit('/')
  await page.getByRole('heading', { name: 'Sessions' }).waitFor()
  await page.keyboard.press('Tab')
  expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('To the content')
  await page.keyboard.press('n')
  await page.getByRole('dialog').getByLabel('First message').waitFor()
  await page.keyboard.press('Control+a')
  await page.keyboard.type(house.workspace)
  await page.getByLabel('First message').focus()
  await page.keyboard.type('hello')
  await page.keyboard.press('Control+Enter')
  await page.getByRole('article', { name: 'The agent said' }).getByText('All done').waitFor()
  // Until the turn has ended Esc would stop it.
  await page.getByRole('button', { name: 'Stop' }).waitFor({ state: 'detached' })
  await page.keyboard.press('Escape')
  await page.keyboard.press('?')
  await page.getByRole('dialog', { name: 'Keys' }).waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('dialog', { name: 'Keys' }).waitFor({ state: 'detached' })
  await page.keyboard.press('g')
  await page.keyboard.press('s')
  await page.waitForURL(`${house.url}/`)
})
