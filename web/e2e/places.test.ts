import { once } from 'node:events'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join, resolve } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { violationsOn } from './axe'
import { House } from './house'
import { ask } from './line'

/** What starts a program of its own takes its time on a busy machine. */
const STARTING = { timeout: 40_000 }
const REPOSITORY = resolve(import.meta.dirname, '../..')
const SCRIPT = {
  conversations: [
    {
      match: 'work',
      steps: [
        { tool_calls: [{ name: 'shell', arguments: { command: 'echo hi' } }], usage: { input: 4000, output: 90 } },
        { text: 'Done, as you said.', usage: { input: 5000, cached: 4000, output: 40 } },
      ],
    },
    { steps: [{ text: 'Good day.' }], loop: true },
  ],
}

/** A package index that keeps who asks waiting, and then has nothing: as slow as a test needs it. */
class EmptyIndex {
  private readonly waiting: ServerResponse[] = []
  private open = false
  private readonly server: Server = createServer((_, answer) => {
    if (this.open) this.refuse(answer)
    else this.waiting.push(answer)
  })

  async start(): Promise<string> {
    this.server.listen(0, '127.0.0.1')
    await once(this.server, 'listening')
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/simple`
  }

  answer(): void {
    this.open = true
    for (const one of this.waiting.splice(0)) this.refuse(one)
  }

  hold(): void {
    this.open = false
  }

  close(): void {
    this.server.closeAllConnections()
    this.server.close()
  }

  private refuse(answer: ServerResponse): void {
    answer.writeHead(404).end()
  }
}

const packages = new EmptyIndex()
let house: House
let data: string
let worked: { id: string; path: string }

beforeAll(async () => {
  const index = await packages.start()
  house = await House.open(SCRIPT, '[jail]\nkind = "host"\n', {
    env: { PIP_INDEX_URL: index, PIP_CONFIG_FILE: '/dev/null', NO_PROXY: '127.0.0.1' },
  })
  data = join(house.home, 'data')
  mkdirSync(join(house.workspace, 'till'))
  writeFileSync(join(house.workspace, 'till/sums.py'), 'def total(items):\n    return sum(items)\n')
  writeFileSync(
    join(house.workspace, 'shop.py'),
    'from till.sums import total\n\n\ndef pay(basket):\n    return total(basket)\n',
  )
  worked = await house.session({ name: 'fix flaky test' })
  await ask(data, 'message.send', { session: worked.id, text: 'work' })
  await ask(data, 'mcp.add', {
    name: 'shop',
    server: { command: 'python3', args: [join(REPOSITORY, 'tests/mcp_host/scripted_server.py'), 'library'] },
  })
  // Servers are started here, where nobody waits for them: for the page of all folders, and for the project.
  for (const cwd of [data, house.workspace]) await ask(data, 'mcp.test', { name: 'shop', cwd })
})
afterAll(async () => {
  packages.close()
  await house.close()
})

const dialog = (page: Page) => page.getByRole('dialog')

async function barsNobody(page: Page): Promise<void> {
  for (const theme of ['dark', 'light'] as const) {
    await page.evaluate((scheme) => document.documentElement.setAttribute('data-mantine-color-scheme', scheme), theme)
    expect(await violationsOn(page)).toEqual([])
  }
}

it('imports a session from a file that was chosen or dropped, and says in a sentence what is none', async () => {
  const page = await house.visit('/')
  await page.getByText('Done, as you said.').first().waitFor()
  const exported = await house.run('sessions', 'export', worked.id)
  await page.getByRole('button', { name: 'More', exact: true }).click()
  await page.getByRole('menuitem', { name: 'Import a session …' }).click()
  const chosen = dialog(page).locator('input[type=file]')
  await chosen.setInputFiles({ name: 'notes.md', mimeType: 'text/markdown', buffer: Buffer.from('# Notes') })
  await dialog(page).getByRole('alert').getByText('notes.md is no session of OpenAgent.').waitFor()
  await barsNobody(page)
  await chosen.setInputFiles({ name: 'flaky.json', mimeType: 'application/json', buffer: Buffer.from(exported) })
  const holds = dialog(page).getByRole('region', { name: 'What the file holds' })
  await holds.getByText('fix flaky test').waitFor()
  await barsNobody(page)
  expect(await dialog(page).getByLabel('Goes on in').inputValue()).toBe(house.workspace)
  await dialog(page).getByRole('button', { name: 'Import', exact: true }).click()
  await page.waitForURL(/\/sessions\//)
  expect(page.url()).not.toContain(worked.id)
  await page.getByText('Done, as you said.').last().waitFor()
  const imported = page.url()

  await page.keyboard.press('Control+k')
  await page.getByPlaceholder('Search sessions, pages and commands …').fill('import a session')
  await page.getByRole('button', { name: 'Import a session …' }).waitFor()
  await page.keyboard.press('Enter')
  const dropped = await page.evaluateHandle((text) => {
    const carried = new DataTransfer()
    carried.items.add(new File([text], 'flaky.json'))
    return carried
  }, exported)
  await dialog(page).getByRole('region', { name: 'The file' }).dispatchEvent('drop', { dataTransfer: dropped })
  await dialog(page).getByRole('button', { name: 'Import', exact: true }).click()
  await page.getByText('It was here already').waitFor()
  expect(page.url()).toBe(imported)
})

it('shows an answer as the provider saw it, to be copied', async () => {
  const page = await house.visit(worked.path)
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
  const answer = page.getByRole('article', { name: 'The agent said' }).filter({ hasText: 'Done, as you said.' })
  await answer.hover()
  await answer.getByRole('button', { name: 'As the provider saw it' }).click()
  await dialog(page).getByText('"messages"').first().waitFor()
  await barsNobody(page)
  await dialog(page).getByRole('button', { name: 'Copy' }).click()
  const copied = JSON.parse(await page.evaluate(() => navigator.clipboard.readText()))
  expect(copied.model).toBe('one')
  await dialog(page).getByRole('radio', { name: 'what came back' }).check()
  await dialog(page).getByText('events, as they came').waitFor()
  await dialog(page).getByText('chat.completion.chunk').first().waitFor()
})

it('tells how agents perform, one by one and by template', async () => {
  const page = await house.visit('/analytics')
  const table = page.getByRole('region', { name: 'Performance by agent' })
  const row = table.getByRole('row').filter({ has: page.locator(`a[href="${worked.path}"]`) })
  await row.getByText('shell 1').waitFor()
  await row.getByText('0 %').waitFor()
  await page.getByRole('radio', { name: 'by template' }).check()
  await page.getByRole('region', { name: 'Performance by template' }).getByText('without a template').waitFor()
  await barsNobody(page)
})

it('tries a call against the rules, and the rules against their examples', async () => {
  writeFileSync(
    join(house.home, 'policy.toml'),
    '[[rule]]\nname = "no-deploys"\ndecision = "deny"\ncommand = "make deploy"\nreason = "Deploys go through CI."\nmatch = ["make deploy"]\n',
  )
  const page = await house.visit('/rules')
  await page.getByText('all as they should be').waitFor()
  await page.getByText(join(house.home, 'policy.toml')).waitFor()
  const decided = page.getByRole('region', { name: 'What would be decided' })
  await page.getByLabel('Command').fill('make test && make deploy')
  await page.keyboard.press('Enter')
  await decided.getByRole('status').getByText('denied').waitFor()
  await decided.getByText('Decided by user:no-deploys').waitFor()
  await decided.getByRole('list', { name: 'Each of its commands' }).getByText('make test', { exact: true }).waitFor()
  await barsNobody(page)
  await page.getByRole('combobox', { name: 'Tool' }).click()
  await page.getByRole('option', { name: 'read_file', exact: true }).click()
  await page.getByLabel('File').fill('shop.py')
  await page.getByRole('button', { name: 'Try it' }).click()
  await decided.getByRole('status').getByText('allowed').waitFor()
})

it('brings the board and a file together, and tells what that did', async () => {
  await ask(data, 'task.create', { title: 'Count the coins', cwd: house.workspace })
  const page = await house.visit('/tasks')
  await page.getByRole('button', { name: 'Sync with a file' }).click()
  await dialog(page).getByLabel('Project').fill(house.workspace)
  await barsNobody(page)
  await dialog(page).getByRole('button', { name: 'Sync', exact: true }).click()
  await dialog(page).getByText('1 change went to the file').waitFor()
  const file = join(house.workspace, 'docs/TASKS.md')
  expect(readFileSync(file, 'utf8')).toContain('Count the coins')
  writeFileSync(file, `${readFileSync(file, 'utf8')}- [ ] Close the till\n`)
  await dialog(page).getByRole('button', { name: 'Another project' }).click()
  await dialog(page).getByRole('button', { name: 'Sync', exact: true }).click()
  await dialog(page).getByText('1 change went to the board').waitFor()
  await dialog(page).getByRole('button', { name: 'Done' }).click()
  await page.getByText('Close the till').waitFor()
})

it('lists a server’s prompts and resources, fills one in and reads the other', async () => {
  const page = await house.visit('/settings/mcp')
  const row = page.getByRole('list', { name: 'MCP servers' }).getByRole('listitem').filter({ hasText: 'shop' }).first()
  await row.getByRole('button', { name: 'Test shop' }).click()
  await row.getByText('1 prompt').waitFor()
  await row.getByRole('button', { name: 'shop', exact: true }).click()
  await row.getByRole('button', { name: 'Try /shop:review' }).click()
  await dialog(page).getByLabel('title').fill('one')
  await dialog(page).getByRole('button', { name: 'See what it says' }).click()
  await dialog(page).getByRole('region', { name: 'What it says' }).getByText('Review it.').waitFor()
  await barsNobody(page)
  await dialog(page).getByRole('button', { name: 'Close', exact: true }).last().click()
  await row.getByRole('button', { name: 'Read book://one' }).click()
  await dialog(page).getByText('Once upon a time').waitFor()
  await barsNobody(page)
})

it('offers prompts and resources where a message is written, with the keyboard alone', async () => {
  const session = await house.session({ name: 'writing' })
  const page = await house.visit(session.path)
  const input = page.getByLabel('Message', { exact: true })
  await input.fill('/shop:rev')
  await page.getByRole('option', { name: /\/shop:review/ }).waitFor()
  await page.keyboard.press('Enter')
  await dialog(page).getByLabel('title').waitFor()
  await page.keyboard.type('the first one')
  await barsNobody(page)
  await page.keyboard.press('Enter')
  await dialog(page).waitFor({ state: 'detached' })
  expect(await input.inputValue()).toBe("/shop:review 'title=the first one'")
  await page.keyboard.press('Enter')
  await page.getByText('Good day.').first().waitFor()
  await page.getByRole('button', { name: 'given along: what /shop:review means' }).click()
  await page.getByText('Review it.').waitFor()

  await input.fill('See @book')
  await page.getByRole('option', { name: /A book/ }).waitFor()
  await page.keyboard.press('Control+Enter')
  await dialog(page).getByText('Once upon a time').waitFor()
  await barsNobody(page)
  await dialog(page).getByRole('button', { name: 'Put into the message' }).click()
  await dialog(page).waitFor({ state: 'detached' })
  expect(await input.inputValue()).toBe('See @shop:book://one ')
})

it('maps the code of a session’s folder, searches it, and leads to the file', { timeout: 120_000 }, async () => {
  const page = await house.visit(worked.path)
  await page.getByRole('button', { name: 'More', exact: true }).click()
  await page.getByRole('menuitem', { name: 'Code map of the folder' }).click()
  await page.getByRole('button', { name: 'Build it' }).click()
  const map = page.getByRole('list', { name: 'The map' })
  await map.getByText('def total(items)').waitFor(STARTING)
  await page.getByLabel('Filter the map').fill('pay')
  await map.getByText('def total(items)').waitFor({ state: 'detached' })
  await page.getByLabel('Search the code').fill('sum of items')
  await page.keyboard.press('Enter')
  const hit = page.getByRole('list', { name: 'Code that was found' }).getByRole('button', { name: 'total' })
  await hit.click()
  await page.getByText('return sum(items)').waitFor()
  await barsNobody(page)

  packages.hold()
  await page.getByRole('button', { name: 'Set up search by meaning' }).click()
  await page.getByText('looking for the packages').waitFor(STARTING)
  packages.answer()
  await page.getByRole('alert').getByText('The packages could not be installed').waitFor(STARTING)

  await page.getByLabel('Filter the map').fill('')
  await map.getByRole('link', { name: 'def total(items)' }).click()
  await page.waitForURL(/tab=files/)
  await page.locator('.view-line').getByText('return').first().waitFor()
})

it('tells which extras are here, and fetches one before everybody’s eyes', { timeout: 120_000 }, async () => {
  const rowOn = (page: Page) =>
    page.getByRole('list', { name: 'Extras' }).getByRole('listitem').filter({ hasText: 'chroma' })
  const page = await house.visit('/settings/extras')
  const row = rowOn(page)
  await row.getByText('not here').waitFor()
  await row.getByText('Without it, vectors are kept').waitFor()
  packages.hold()
  await row.getByRole('button', { name: 'Fetch chroma' }).click()
  await row.getByText('looking for the packages').waitFor(STARTING)
  await barsNobody(page)
  const other = await house.visit('/settings/extras')
  await rowOn(other).getByText('looking for the packages').waitFor(STARTING)
  packages.answer()
  await row.getByRole('alert').getByText('The packages could not be installed').waitFor(STARTING)
  await rowOn(other).getByText('not here').waitFor()
})

it('hands a session out as a file in each form, which leads back in', async () => {
  const page = await house.visit(worked.path)
  await page.getByText('Done, as you said.').last().waitFor()
  const taken = async (form: string) => {
    await page.getByRole('button', { name: 'More', exact: true }).click()
    const coming = page.waitForEvent('download')
    await page.getByRole('menuitem', { name: form }).click()
    const file = await coming
    return { name: file.suggestedFilename(), text: readFileSync(await file.path(), 'utf8') }
  }
  const markdown = await taken('Markdown')
  expect(markdown.name).toBe('fix-flaky-test.md')
  expect(markdown.text).toContain('Done, as you said.')
  const html = await taken('A page (HTML)')
  expect(html.name).toBe('fix-flaky-test.html')
  expect(html.text).toContain('Done, as you said.')
  expect(html.text).not.toContain('<script')
  const json = await taken('All of it (JSON)')
  expect(json.name).toBe('fix-flaky-test.json')
  expect(JSON.parse(json.text).session.id).toBe(worked.id)
  const there = join(house.home, 'taken.json')
  writeFileSync(there, json.text)
  expect(await house.run('sessions', 'import', '--again', there)).toContain('Go on with')
})

it('packs a workspace into an archive, and unpacks it elsewhere', async () => {
  const page = await house.visit('/workspaces')
  const archive = join(house.home, 'packed.tar.gz')
  const elsewhere = join(house.home, 'unpacked')
  const open = async (what: string) => {
    await page.getByRole('button', { name: 'Space and backups' }).click()
    await page.getByRole('menuitem', { name: what }).click()
  }
  await open('Pack into an archive …')
  await dialog(page).getByLabel('Workspace').fill(house.workspace)
  await dialog(page).getByLabel('Archive').fill(archive)
  await barsNobody(page)
  await dialog(page).getByRole('button', { name: 'Pack', exact: true }).click()
  await page.getByText('Packed', { exact: true }).waitFor()
  await open('Unpack an archive …')
  await dialog(page).getByLabel('Archive').fill(archive)
  await dialog(page).getByLabel('Folder').fill(house.workspace)
  await dialog(page).getByRole('button', { name: 'Unpack', exact: true }).click()
  await dialog(page).getByRole('alert').waitFor()
  await dialog(page).getByLabel('Folder').fill(elsewhere)
  await dialog(page).getByRole('button', { name: 'Unpack', exact: true }).click()
  await page.getByText('Unpacked', { exact: true }).waitFor()
  expect(readFileSync(join(elsewhere, 'till/sums.py'), 'utf8')).toContain('return sum(items)')
})

it('lists the folders that are trusted, and revokes one', async () => {
  const folder = join(house.home, 'with-servers')
  mkdirSync(folder)
  writeFileSync(join(folder, '.mcp.json'), '{"mcpServers": {}}')
  await ask(data, 'trust.add', { cwd: folder })
  const page = await house.visit('/settings')
  const row = page.getByRole('list', { name: 'Trusted folders' }).getByRole('listitem').filter({ hasText: folder })
  await row.getByText('.mcp.json').waitFor()
  await row.getByRole('button', { name: /^Revoke/ }).click()
  await barsNobody(page)
  await dialog(page).getByRole('button', { name: 'Revoke' }).click()
  await row.waitFor({ state: 'detached' })
  const { folders } = await ask(data, 'trust.list', {})
  expect(folders.map((entry) => entry.folder)).not.toContain(folder)
})
