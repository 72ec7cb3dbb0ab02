import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { violationsOn } from './axe'
import { House, PYTHON } from './house'

const PEOPLE = { ann: 'Ann Archer', bob: 'Bob Baker', cleo: 'Cleo Chen' }
let house: House
let provider: ChildProcess

/** Whom people log in with: it asks who one is, and believes it. */
async function openProvider(): Promise<string> {
  const users = Object.entries(PEOPLE).flatMap(([sub, name]) => [
    '--user-claims',
    JSON.stringify({ sub, name, email: `${sub}@example.org` }),
  ])
  provider = spawn(PYTHON, ['-W', 'ignore', '-m', 'oidc_provider_mock', '--port', '0', ...users], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const lines = createInterface({ input: provider.stderr! })
  for (;;) {
    const [line] = (await once(lines, 'line')) as [string]
    const [, url] = /running on (http:\/\/[\d.:]+)/.exec(line) ?? []
    if (url) return url
  }
}

beforeAll(async () => {
  const people = [
    '[people]',
    'folder = "~/people"',
    `issuer = "${await openProvider()}"`,
    'client_id = "openagent"',
    'client_secret = "s"',
    'name = "Example"',
    'admins = ["ann@example.org"]',
  ]
  house = await House.open({ conversations: [{ steps: [{ text: 'Good day.' }], loop: true }] }, people.join('\n'))
})
afterAll(async () => {
  provider.kill()
  await house.close()
})

/** A browser of somebody's, from the page that asks them to sign in. */
async function signIn(own: Page, who: keyof typeof PEOPLE): Promise<Page> {
  await own.getByRole('link', { name: 'Sign in with Example' }).click()
  await own.getByRole('button', { name: who, exact: true }).first().click()
  await own.getByRole('button', { name: `You: ${PEOPLE[who]}` }).waitFor()
  return own
}

async function come(who: keyof typeof PEOPLE): Promise<Page> {
  const own = await house.open()
  await own.goto(house.url)
  return signIn(own, who)
}

/** With `SHOTS`, what a person sees: three widths, dark and light. */
async function picture(page: Page, name: string): Promise<void> {
  if (!process.env.SHOTS) return
  for (const colorScheme of ['dark', 'light'] as const) {
    await page.emulateMedia({ colorScheme })
    for (const width of [390, 820, 1440]) {
      await page.setViewportSize({ width, height: 900 })
      await page.screenshot({ path: join(process.env.SHOTS, `${name}-${colorScheme}-${width}.png`) })
    }
  }
  await page.emulateMedia({ colorScheme: 'dark' })
}

/** A session of theirs, made as they make one. */
async function begin(page: Page, says: string): Promise<string> {
  await page.getByRole('button', { name: 'New session' }).first().click()
  const form = page.getByRole('dialog', { name: 'New session' })
  await form.waitFor()
  await form.getByLabel('First message').fill(says)
  await form.getByRole('button', { name: 'Start' }).click()
  await page.getByRole('heading', { name: says, level: 1 }).waitFor()
  await page.getByText('Good day.').waitFor()
  return page.url()
}

it('an admin puts people into a team, limits and suspends them', { timeout: 120_000 }, async () => {
  const bob = await come('bob')
  expect(await bob.getByRole('navigation', { name: 'Pages' }).getByRole('link').allTextContents()).not.toContain(
    'Settings',
  )
  await bob.goto(`${house.url}/people`)
  await bob.getByText('Ask one of yours.').waitFor()
  await picture(bob, 'people-member')
  const ann = await come('ann')
  await ann.keyboard.press('g')
  await ann.keyboard.press('n')
  const people = ann.getByRole('list', { name: 'People' })
  await people.getByText('Bob Baker').waitFor()
  await ann.getByRole('button', { name: 'Add a person' }).click()
  await ann.getByLabel('Address').fill('dora@example.org')
  await ann.getByRole('button', { name: 'Add', exact: true }).click()
  await ann.getByRole('dialog').getByText('They sign in with Example.').waitFor()
  await picture(ann, 'person-added')
  await ann.keyboard.press('Escape')
  await people.getByText('dora@example.org').waitFor()

  await ann.getByRole('button', { name: 'New team' }).click()
  await ann.getByLabel('Name').fill('core')
  await ann.getByRole('button', { name: 'Create' }).click()
  const teams = ann.getByRole('list', { name: 'Teams' })
  await teams.getByText('Nobody is in it').waitFor()
  await ann.getByRole('button', { name: 'Change core' }).click()
  await ann.getByRole('combobox', { name: 'Members' }).click()
  await ann.getByRole('option', { name: 'Bob Baker' }).click()
  await ann.getByRole('textbox', { name: 'Dollars a day' }).fill('20')
  await picture(ann, 'team-dialog')
  await ann.getByRole('button', { name: 'Save' }).click()
  await teams.getByText('bob@example.org · $20').waitFor()
  await ann.getByRole('button', { name: 'Change Bob Baker' }).click()
  await picture(ann, 'person-dialog')
  await ann.keyboard.press('Escape')
  expect(await violationsOn(ann)).toEqual([])
  await picture(ann, 'people')
  await ann.getByRole('button', { name: 'You: Ann Archer' }).click()
  await picture(ann, 'menu')
  await ann.keyboard.press('Escape')

  await ann.getByRole('button', { name: 'Suspend Bob Baker' }).click()
  await ann.getByRole('dialog').getByRole('button', { name: 'Suspend' }).click()
  await people.getByText('suspended').waitFor()
  await bob.getByRole('link', { name: 'Sign in with Example' }).waitFor()
  await ann.getByRole('button', { name: 'Let Bob Baker in again' }).click()
  await ann.getByRole('button', { name: 'Suspend Bob Baker' }).waitFor()
})

it('two people work on one session, and each sees nothing else of the other', { timeout: 120_000 }, async () => {
  if (process.env.SHOTS) {
    const stranger = await house.open()
    await stranger.goto(house.url)
    await stranger.getByRole('link', { name: 'Sign in with Example' }).waitFor()
    await picture(stranger, 'login')
  }
  const bob = await come('bob')
  await picture(bob, 'dashboard-empty')
  await begin(bob, 'what is only Bob’s')
  const shared = await begin(bob, 'what Bob shares')
  await bob.getByRole('button', { name: 'private' }).waitFor()
  await bob.getByRole('button', { name: 'private' }).click()
  const dialog = bob.getByRole('dialog')
  await dialog.getByRole('button', { name: 'Make a link' }).click()
  const link = await dialog.getByLabel('The link', { exact: true }).inputValue()
  await dialog.getByText('One link opens it').waitFor()
  expect(await violationsOn(bob)).toEqual([])
  await picture(bob, 'share')
  await bob.keyboard.press('Escape')

  const cleo = await house.open()
  await cleo.goto(link)
  await signIn(cleo, 'cleo')
  await cleo.waitForURL(shared)
  await cleo.getByText('what Bob shares').first().waitFor()
  await cleo.getByRole('button', { name: 'of Bob Baker' }).waitFor()
  await cleo.getByText('Bob Baker shares this session with you to read.').waitFor()
  await cleo.getByRole('img', { name: 'Here now: Bob Baker' }).waitFor()
  await bob.getByRole('img', { name: 'Here now: Cleo Chen' }).waitFor()
  await picture(bob, 'session-shared')
  await picture(cleo, 'session-guest')
  const beside = await cleo.context().newPage()
  await beside.goto(house.url)
  await beside.getByText('of Bob Baker').first().waitFor()
  await beside.getByText('what Bob shares').first().waitFor()
  expect(await beside.getByText('what is only Bob’s').count()).toBe(0)
  await picture(beside, 'dashboard-guest')

  await bob.keyboard.press('S')
  await dialog.getByText('reads, by link').waitFor()
  await dialog.getByRole('button', { name: 'Take back' }).click()
  await dialog.getByText('reads, by link').waitFor({ state: 'detached' })
  await cleo.getByText('This session is not here').waitFor()
  expect(await cleo.getByText('Good day.').count(), 'what was shown is gone too').toBe(0)
  await picture(cleo, 'session-gone')
})

it('signs out on the server, and comes back to the page that was wanted', { timeout: 120_000 }, async () => {
  const cleo = await come('cleo')
  const cookies = await cleo.context().cookies()
  await cleo.getByRole('button', { name: 'You: Cleo Chen' }).click()
  await cleo.getByRole('menuitem', { name: 'Sign out' }).click()
  await cleo.getByRole('link', { name: 'Sign in with Example' }).waitFor()
  await cleo.context().addCookies(cookies)
  expect((await cleo.request.get(`${house.url}/api/me`)).status(), 'the old cookie opens nothing').toBe(401)
  await cleo.goto(`${house.url}/tasks?x=1`)
  await signIn(cleo, 'cleo')
  expect(cleo.url()).toBe(`${house.url}/tasks?x=1`)
})

it('shows nothing of it where nobody logs in', { timeout: 120_000 }, async () => {
  const alone = await House.open([{ text: 'Good day.' }])
  try {
    const { path } = await alone.session()
    const page = await alone.visit(path)
    await page.getByRole('button', { name: 'More' }).waitFor()
    await page.getByRole('button', { name: /^Theme:/ }).waitFor()
    await page.waitForLoadState('networkidle')
    expect(await page.locator('.sharing, .avatar').count()).toBe(0)
    await page.goto(`${alone.url}/settings`)
    const siblings = page.getByRole('navigation', { name: 'Settings' }).getByRole('link')
    await siblings.first().waitFor()
    await page.waitForLoadState('networkidle')
    expect(await siblings.allTextContents()).not.toContain('People and teams')
  } finally {
    await alone.close()
  }
})
