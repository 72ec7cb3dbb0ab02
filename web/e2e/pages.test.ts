import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { violationsOn } from './axe'
import { House } from './house'
import { ask } from './line'
import { sameAsKept } from './pictures'
import { watchFigures } from './vitals'

const REPOSITORY = resolve(import.meta.dirname, '../..')
const PYTHON = join(REPOSITORY, '.venv/bin/python')
const call = (name: string, given: Record<string, unknown>) => ({ name, arguments: given })
const SCRIPT = {
  conversations: [
    {
      match: 'work',
      steps: [
        {
          tool_calls: [
            call('shell', { command: 'echo hi' }),
            call('write_file', { path: 'a.txt', content: 'x' }),
            call('shell', { command: 'rm -rf /' }),
          ],
          usage: { input: 41_000, cached: 30_000, output: 900 },
        },
        { text: 'Done.', usage: { input: 52_000, cached: 50_000, output: 400 } },
      ],
    },
    { match: 'fail', steps: [{ fault: 'bad_request' }] },
    { steps: [{ text: 'Good day.', usage: { input: 9000, cached: 1000, output: 300 } }], loop: true },
  ],
}

const settings = (oauth: string) => `
[jail]
kind = "host"
[providers.desk]
kind = "compatible"
base_url = "${oauth}/v1"
auth = "oauth"
[providers.desk.oauth]
client_id = "openagent-test"
authorize_url = "${oauth}/authorize"
token_url = "${oauth}/token"
revoke_url = "${oauth}/revoke"
[prices."scripted/one"]
input = 3.0
cached = 0.3
output = 15.0
`

let house: House
let authorization: ChildProcess
let loginServer: string
let worked: { id: string; path: string }

beforeAll(async () => {
  authorization = spawn(
    PYTHON,
    [
      '-c',
      'import asyncio\nfrom tests.providers_oauth.authorization_server import AuthorizationServer\nasync def main():\n    async with AuthorizationServer() as server:\n        print(server.url, flush=True)\n        await asyncio.Event().wait()\nasyncio.run(main())',
    ],
    { cwd: REPOSITORY, stdio: ['ignore', 'pipe', 'inherit'] },
  )
  const [url] = (await once(createInterface({ input: authorization.stdout! }), 'line')) as [string]
  loginServer = url
  house = await House.open(SCRIPT, settings(url))
  worked = await house.session({ name: 'fix flaky test' })
  const failed = await house.session({ name: 'docs rewrite' })
  const data = join(house.home, 'data')
  await ask(data, 'message.send', { session: worked.id, text: 'work' })
  await ask(data, 'message.send', { session: failed.id, text: 'fail' })
  await ask(data, 'tool.run', { session: worked.id, tool: 'shell', arguments: { command: 'echo from-me' } })
})
afterAll(async () => {
  authorization.kill()
  await house.close()
})

const dialog = (page: Page) => page.getByRole('dialog')

it('adds a key that was tried, shows it masked, replaces it, and deletes it after asking', async () => {
  const page = await house.visit('/auth')
  await page.getByRole('button', { name: 'Add a key' }).click()
  await dialog(page).locator('input[type=password]').fill('two words')
  await dialog(page).getByRole('combobox', { name: 'Provider' }).click()
  await page.getByRole('option', { name: 'other' }).click()
  await dialog(page).getByRole('button', { name: 'Try and keep' }).click()
  await dialog(page).getByRole('alert').getByText('no API key').waitFor()
  await dialog(page).locator('input[type=password]').fill('sk-very-secret')
  await dialog(page).getByRole('button', { name: 'Try and keep' }).click()
  const keys = page.getByRole('list', { name: 'API keys' })
  const row = keys.getByRole('listitem').filter({ hasText: 'vault' })
  await row.getByText('other').first().waitFor()
  await row.getByRole('button', { name: 'Replace the key for other' }).click()
  await dialog(page).locator('input[type=password]').fill('sk-other-secret')
  await dialog(page).getByRole('button', { name: 'Try and replace' }).click()
  await dialog(page).waitFor({ state: 'detached' })
  expect(await page.content()).not.toMatch(/sk-(very|other)-secret/)
  await row.getByRole('button', { name: /^Test/ }).click()
  await row.getByText(/Works:|answered/).waitFor()
  await row.getByRole('button', { name: 'Delete the key for other' }).click()
  await dialog(page).getByRole('button', { name: 'Delete' }).click()
  await row.waitFor({ state: 'detached' })
})

it('logs in by a pasted address, gives the login back, and logs in again through the browser', async () => {
  const page = await house.visit('/auth')
  const row = page.getByRole('list', { name: 'Logins' }).getByRole('listitem').filter({ hasText: 'desk' })
  await row.getByRole('button', { name: /^Log in/ }).click()
  const address = await dialog(page).getByLabel('Address to open').inputValue()
  const answer = await fetch(address, { redirect: 'manual' })
  await dialog(page).getByLabel('Code or address').fill(answer.headers.get('location')!)
  await dialog(page).getByRole('button', { name: 'Finish' }).click()
  await row.getByText('logged in', { exact: true }).waitFor()
  await row.getByRole('button', { name: 'Delete the login to desk' }).click()
  await dialog(page).getByRole('button', { name: 'Delete' }).click()
  await row.getByText('not logged in').waitFor()

  await row.getByRole('button', { name: /^Log in/ }).click()
  const opening = page.context().waitForEvent('page')
  await dialog(page).getByRole('link', { name: 'Open' }).click()
  await opening
  await row.getByText('logged in', { exact: true }).waitFor()
  await expect.poll(() => dialog(page).count()).toBe(0)
})

it('offers the usual providers and a login server of one’s own to log in to', async () => {
  const page = await house.visit('/auth')
  await page.getByRole('button', { name: 'Log in to a provider' }).click()
  await dialog(page).getByRole('combobox', { name: 'Whose account' }).click()
  for (const name of [/Google/, /Microsoft/, /GitHub/, /Hugging Face/])
    await page.getByRole('option', { name }).waitFor()
  await page.getByRole('option', { name: /login server of your own/ }).click()
  await dialog(page).getByLabel('Login server').fill(loginServer)
})

it('makes a token, shows it once, and revokes it', async () => {
  const page = await house.visit('/auth')
  await page.getByRole('button', { name: 'New token' }).click()
  await dialog(page).getByLabel('Name').fill('nightly build')
  await dialog(page).getByRole('checkbox', { name: 'chat' }).check()
  expect(await dialog(page).getByRole('button', { name: 'Create' }).isEnabled()).toBe(false) // it could do nothing
  await dialog(page).getByLabel('Works below').fill(house.workspace)
  await dialog(page).getByRole('button', { name: 'Create' }).click()
  const secret = await dialog(page).getByLabel('The token').inputValue()
  const asked = () => fetch(`${house.url}/api/me`, { headers: { authorization: `Bearer ${secret}` } })
  expect((await asked()).status).toBe(200)
  await dialog(page).getByRole('button', { name: 'Done' }).click()
  const row = page
    .getByRole('list', { name: 'Access tokens' })
    .getByRole('listitem')
    .filter({ hasText: 'nightly build' })
  await row.getByText('chat').waitFor()
  await row.getByText(`works below ${house.workspace}`).waitFor()
  expect(await page.content()).not.toContain(secret)
  await row.getByRole('button', { name: 'Revoke nightly build' }).click()
  await dialog(page).getByRole('button', { name: 'Revoke' }).click()
  await row.waitFor({ state: 'detached' })
  expect((await asked()).status).toBe(401)
})

it('switches a tool off for new sessions and for one session, and shows its schema', async () => {
  const page = await house.visit('/settings/tools')
  const fetching = page.getByRole('switch', { name: 'web_fetch' })
  await fetching.click({ force: true })
  await page.getByText('off (1)').waitFor()
  expect(readFileSync(join(house.home, 'config.toml'), 'utf8')).toContain('off = ["web_fetch"]')
  const later = await house.session({ name: 'later' })
  const data = join(house.home, 'data')
  expect((await ask(data, 'session.get', { session: later.id })).settings?.disabled_tools).toEqual(['web_fetch'])
  await fetching.click({ force: true })
  await page.getByText('off (1)').waitFor({ state: 'detached' })

  await page.getByRole('combobox', { name: 'For which sessions' }).click()
  await page.getByRole('option', { name: 'fix flaky test' }).click()
  await page.getByRole('switch', { name: 'shell', exact: true }).click({ force: true })
  await page.getByText('off (1)').waitFor()
  expect((await ask(data, 'session.get', { session: worked.id })).settings?.disabled_tools).toEqual(['shell'])
  await page.getByRole('button', { name: 'read_file' }).click()
  await page.getByText('"properties"').waitFor()
})

it('adds an MCP server by its command, tests it, switches it off and removes it', async () => {
  const page = await house.visit('/settings/mcp')
  await page.getByRole('button', { name: 'Add a server' }).click()
  await page.getByRole('menuitem', { name: 'By its command' }).click()
  await dialog(page).getByLabel('Name').fill('time')
  await dialog(page)
    .getByLabel('Command')
    .fill(`"${join(REPOSITORY, '.venv/bin/mcp-server-time')}" --local-timezone Europe/Vienna`)
  await dialog(page).getByRole('button', { name: 'Try and save' }).click()
  const row = page.getByRole('list', { name: 'MCP servers' }).getByRole('listitem').filter({ hasText: 'time' }).first()
  await row.getByRole('button', { name: 'More about time' }).click()
  await page.getByRole('menuitem', { name: 'Edit' }).click()
  const command = dialog(page).getByLabel('Command')
  expect(await command.inputValue()).toContain('--local-timezone Europe/Vienna')
  await command.fill('no-such-program')
  await dialog(page).getByRole('button', { name: 'Try and save' }).click()
  await dialog(page).getByText('It did not come up').waitFor()
  await command.fill(`"${join(REPOSITORY, '.venv/bin/mcp-server-time')}" --local-timezone Europe/Rome`)
  await dialog(page).getByRole('button', { name: 'Try and save' }).click()
  await dialog(page).waitFor({ state: 'detached' })
  await row.getByRole('button', { name: 'Test time' }).click()
  await row.getByText('2 tools').waitFor()
  await row.getByText('up', { exact: true }).waitFor()
  await row.getByRole('button', { name: 'time', exact: true }).click()
  await row
    .getByText(/convert_time/)
    .first()
    .waitFor()
  await row.getByRole('switch', { name: 'time for all sessions' }).click({ force: true })
  await row.getByText('off', { exact: true }).waitFor()
  await row.getByRole('button', { name: 'More about time' }).click()
  await page.getByRole('menuitem', { name: 'Remove' }).click()
  await dialog(page).getByRole('button', { name: 'Remove' }).click()
  await page.getByText('No servers yet').waitFor()
})

it('adds a server of the catalogue with the setting it needs, and imports others', async () => {
  const page = await house.visit('/settings/mcp')
  await page.getByRole('button', { name: 'Look at known servers' }).click()
  await dialog(page).getByLabel('Filter known servers').fill('github')
  await dialog(page).getByRole('button', { name: 'Choose github' }).click()
  expect(await dialog(page).getByRole('button', { name: 'Try and save' }).isDisabled()).toBe(true)
  await dialog(page).locator('input[type=password]').fill('ghp_secret')
  await dialog(page).getByRole('button', { name: 'Try and save' }).click()
  // Nothing of the network is there in a test: what cannot be tried can still be kept.
  await dialog(page).getByRole('button', { name: 'Save it all the same' }).click()
  await page.getByRole('button', { name: 'github', exact: true }).waitFor()
  expect(await page.content()).not.toContain('ghp_secret')

  const file = join(house.home, 'mcp.json')
  writeFileSync(file, JSON.stringify({ mcpServers: { theirs: { command: 'their-server' } } }))
  await page.getByRole('button', { name: 'Add a server' }).click()
  await page.getByRole('menuitem', { name: 'From another program' }).click()
  await dialog(page).getByLabel('File').fill(file)
  await dialog(page).getByRole('button', { name: 'Import' }).click()
  await dialog(page).getByText('Added: theirs.').waitFor()
  await dialog(page).getByRole('button', { name: 'Done' }).click()
  await page.getByRole('button', { name: 'theirs', exact: true }).waitFor()
})

it('writes a template as a form and as Markdown, and starts a session from it', async () => {
  const page = await house.visit('/templates')
  await page.getByRole('button', { name: 'New template' }).click()
  await dialog(page).getByLabel('Name').fill('greeter')
  await dialog(page).getByLabel('Description').fill('Says hello.')
  await dialog(page).getByLabel('Prompt', { exact: true }).fill('Be kind.')
  await dialog(page).getByRole('radio', { name: 'Markdown' }).click()
  const raw = dialog(page).getByLabel('Markdown with front matter')
  expect(await raw.inputValue()).toContain('name: greeter\ndescription: Says hello.')
  await raw.fill(
    (await raw.inputValue()).replace('Be kind.', 'Be very kind.').replace('---\n\n', 'mode: plan\n---\n\n'),
  )
  await dialog(page).getByRole('radio', { name: 'Form' }).click()
  expect(await dialog(page).getByLabel('Prompt', { exact: true }).inputValue()).toBe('Be very kind.')
  await dialog(page).getByRole('button', { name: 'Save' }).click()
  const card = page.getByRole('listitem').filter({ hasText: 'greeter' })
  await card.getByText('plan', { exact: true }).waitFor()
  await card.getByRole('button', { name: 'Start a session from greeter' }).click()
  await dialog(page).getByRole('textbox', { name: 'Directory' }).fill(house.workspace)
  await dialog(page).getByLabel('First message').fill('hello')
  await dialog(page).getByRole('button', { name: 'Start', exact: true }).click()
  await page.waitForURL(/sessions/)
  await page.getByRole('article', { name: 'The agent said' }).getByText('Good day.').waitFor()
  await page.getByRole('button', { name: 'mode plan' }).waitFor()
})

it('moves a task by dragging and by keys, live for everybody', async () => {
  const page = await house.visit('/tasks')
  const other = await house.visit('/tasks')
  const column = (where: Page, name: string) => where.getByRole('region', { name })
  for (const title of ['Write the handbook', 'Read the handbook']) {
    await page.getByRole('button', { name: 'New task', exact: true }).click()
    await dialog(page).getByLabel('Title').fill(title)
    await dialog(page).getByRole('button', { name: 'Create' }).click()
    await column(other, 'To do').getByText(title).waitFor()
  }
  await column(page, 'To do').getByRole('listitem').filter({ hasText: 'Write' }).dragTo(column(page, 'Doing'))
  await column(other, 'Doing').getByText('Write the handbook').waitFor()
  await column(page, 'To do').getByRole('button', { name: 'Read the handbook', exact: true }).focus()
  await page.keyboard.press('Alt+ArrowRight')
  await column(other, 'Doing').getByText('Read the handbook').waitFor()
  const titles = () => column(other, 'Doing').locator('.task-title').allInnerTexts()
  expect(await titles()).toEqual(['Write the handbook', 'Read the handbook'])
  await column(page, 'Doing').getByRole('button', { name: 'Read the handbook', exact: true }).focus()
  await page.keyboard.press('Alt+ArrowUp')
  await expect.poll(titles).toEqual(['Read the handbook', 'Write the handbook'])
})

it('shows what was spent, how fast and how often it failed', async () => {
  const page = await house.visit('/analytics')
  const figure = (name: string) => page.locator('.figure').filter({ hasText: name }).locator('.figure-value')
  await expect.poll(() => figure('Cost').innerText()).toMatch(/^\$0\.\d+/)
  expect(await figure('Errors').innerText()).toBe('1')
  expect(await figure('Time to answer').innerText()).toMatch(/\d+(\.\d)? (ms|s)/)
  expect(await figure('Read from cache').innerText()).toMatch(/^[78]\d %/)
  await page
    .getByRole('figure', { name: /^Cost by day/ })
    .locator('svg.recharts-surface')
    .first()
    .waitFor()
  const table = page.getByRole('region', { name: 'Usage by model' })
  await table.getByRole('row').filter({ hasText: 'one' }).getByText('$0.').waitFor()
  await page.getByRole('combobox', { name: 'Grouped by' }).click()
  await page.getByRole('option', { name: 'by session' }).click()
  await page.getByRole('row').filter({ hasText: 'fix flaky test' }).first().waitFor()
})

it('finds in the audit trail what was refused, opens it, and exports', async () => {
  const page = await house.visit('/audit')
  await page.getByRole('combobox', { name: 'Kind' }).click()
  await page.getByRole('option', { name: 'decision' }).click()
  await page.getByLabel('Search what is shown').fill('rm -rf')
  const rows = page.locator('.audit tbody tr')
  await expect.poll(() => rows.count()).toBe(1)
  await rows.getByText('deny', { exact: true }).waitFor()
  await rows.getByRole('button', { name: 'rm -rf /' }).click()
  await page.getByText('"rule"').waitFor()
  await page.getByRole('button', { name: 'Export' }).click()
  const downloading = page.waitForEvent('download')
  await page.getByRole('menuitem', { name: /CSV/ }).click()
  const text = readFileSync(await (await downloading).path(), 'utf8')
  expect(text.split('\n')[0]).toBe('id,time,session,kind,subject,detail')
  expect(text).toContain('rm -rf /')
  await page.getByRole('button', { name: 'Clear', exact: true }).click()
  await expect.poll(() => rows.count()).toBeGreaterThan(3)
})

it('shows every setting with where it comes from', async () => {
  const page = await house.visit('/settings')
  await page.getByRole('radio', { name: 'changed' }).check({ force: true })
  await page.getByLabel('Filter settings').fill('desk')
  await page.getByRole('heading', { name: 'providers.desk.oauth' }).waitFor()
  await page
    .getByText(/config\.toml:\d+/)
    .first()
    .waitFor()
})

it('goes to a group of settings that is clicked while they are still being drawn', async () => {
  const page = await house.visit('/settings')
  await page
    .getByRole('navigation', { name: 'Groups of settings' })
    .getByRole('link', { name: 'Jail', exact: true })
    .click()
  const top = () => page.locator('#jail').evaluate((group) => Math.abs(group.getBoundingClientRect().top))
  await expect.poll(top, { timeout: 30_000 }).toBeLessThan(120)
  await page.getByRole('heading', { name: 'Trusted folders' }).waitFor({ timeout: 30_000 })
  expect(await top()).toBeLessThan(120)
})

it('moves nothing that is in sight while a page fills', { timeout: 120_000 }, async () => {
  for (const [path, last] of [
    ['/settings', 'Trusted folders'],
    ['/analytics', 'All agents'],
  ] as const) {
    const page = await house.visit('/')
    await watchFigures(page)
    await page.goto(house.url + path)
    await page.getByRole('heading', { name: last, exact: true }).waitFor({ timeout: 30_000 })
    await page.waitForLoadState('networkidle')
    const moved = await page.evaluate(() => (window as unknown as { seen: { shift: number } }).seen.shift)
    expect(moved, path).toBeLessThan(0.02)
  }
})

const PAGES: { path: string; ready: string }[] = [
  { path: '/auth', ready: 'Access tokens' },
  { path: '/settings/tools', ready: 'read_file' },
  { path: '/settings/mcp', ready: 'github' },
  { path: '/templates', ready: 'architect' },
  { path: '/tasks', ready: 'Write the handbook' },
  { path: '/analytics', ready: 'Errors by day' },
  { path: '/audit', ready: 'rm -rf /' },
  { path: '/settings', ready: 'Trusted folders' },
]

/** Dates, addresses and times that differ from run to run. */
const CHANGING =
  '.facts dd, .page-lead, .setting-value, .section-head p, .figure-value, .figure-note, .chart, .usage-table td, .row-about, .row-figures'

const reveal = (page: Page, shown: boolean) =>
  page.locator(CHANGING).evaluateAll((all, visible) => {
    for (const one of all) (one as HTMLElement).style.opacity = visible ? '' : '0'
  }, shown)

it('every page looks as it did, bars nobody in both themes, and fits a phone', { timeout: 120_000 }, async () => {
  const page = await house.visit('/')
  const wrong: string[] = []
  for (const { path, ready } of PAGES) {
    await page.setViewportSize({ width: 1440, height: 900 })
    await page.goto(house.url + path)
    await page.getByText(ready).first().waitFor()
    const name = path.slice(1).replace('/', '-')
    for (const theme of ['dark', 'light'] as const) {
      await page.evaluate((wanted) => document.documentElement.setAttribute('data-mantine-color-scheme', wanted), theme)
      const looked = theme === 'dark' ? 'everything' : 'colours'
      wrong.push(...(await violationsOn(page, looked)).map((violation) => `${path}, ${theme}: ${violation}`))
      await reveal(page, false)
      wrong.push(await sameAsKept(page, `${name}-${theme}`))
      await reveal(page, true)
    }
    await page.setViewportSize({ width: 390, height: 844 })
    const wider = await page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth)
    if (wider) wrong.push(`${path} is wider than a phone`)
    wrong.push(...(await violationsOn(page)).map((violation) => `${path}, phone: ${violation}`))
  }
  expect(wrong.filter(Boolean)).toEqual([])
})

it('draws how an agent does for as long as somebody looks', async () => {
  const { id } = await house.session({ name: 'drawn live' })
  await house.run('run', '--session', id, 'hello')
  const page = await house.visit('/analytics')
  const row = page.getByRole('region', { name: 'Performance by agent' }).getByRole('row')
  const line = row.filter({ hasText: 'drawn live' }).locator('.spark polyline')
  await line.waitFor({ state: 'attached' })
  expect(await line.getAttribute('points')).not.toContain(',1.0')
  await house.run('run', '--session', id, 'again')
  await expect.poll(() => line.getAttribute('points')).toContain(',1.0')
})
