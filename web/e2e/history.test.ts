import { execFileSync } from 'node:child_process'
import { appendFileSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { violationsOn } from './axe'
import { House } from './house'

const REPOSITORY = resolve(import.meta.dirname, '../..')
const PYTHON = join(REPOSITORY, '.venv/bin/python')
const SAID = 'It still says the same, says the scripted one.'

/** Somebody without a key or a model, on a machine where six other agents have worked. */
let house: House

beforeAll(async () => {
  const script = { conversations: [{ steps: [{ text: SAID }], loop: true }] }
  house = await House.open(script, '[jail]\nkind = "host"\n', { bare: true })
  const provider = `[providers.scripted]\nkind = "compatible"\nbase_url = "${house.model}/v1"\napi_key = "k"\n`
  appendFileSync(join(house.home, 'config.toml'), provider)
  const lay = 'import sys; from pathlib import Path; from tests.history.left import lay; lay(Path(sys.argv[1]))'
  execFileSync(PYTHON, ['-c', lay, house.home], { cwd: REPOSITORY })
  // Claude Code worked in a folder that is there; the others’ is gone.
  const folder = join(house.home, '.claude/projects/-home-user-project')
  for (const name of readdirSync(folder)) {
    const file = join(folder, name)
    writeFileSync(file, readFileSync(file, 'utf8').replaceAll('/home/user/project', house.workspace))
  }
  writeFileSync(join(house.home, '.codex/sessions/2026/11/15/rollout-broken.jsonl'), 'not what codex writes\n')
}, 60_000)
afterAll(() => house?.close())

const shot = async (page: Page, name: string) => {
  if (process.env.SHOTS) await page.screenshot({ path: join(process.env.SHOTS, `${name}.png`), fullPage: true })
}

/** Nobody is barred, dark or light. */
async function looksRight(page: Page, name: string): Promise<void> {
  for (const theme of ['light', 'dark'] as const) {
    await page.evaluate((scheme) => document.documentElement.setAttribute('data-mantine-color-scheme', scheme), theme)
    await shot(page, `${name}-${theme}`)
    expect(await violationsOn(page)).toEqual([])
  }
}

it('leads who has no key from the first page to what others cost, to a session of theirs, and on with it', async () => {
  const page = await house.visit()
  await page.getByRole('heading', { name: 'What should answer?' }).waitFor()
  await page.getByRole('heading', { name: /^Bring your sessions/ }).waitFor()
  await page.getByText(/\d+ of Claude Code/).waitFor()
  await looksRight(page, 'welcome-theirs')
  await page.getByRole('button', { name: /^Bring them/ }).click()
  await page.getByRole('link', { name: /^all of it cost/ }).waitFor()
  await shot(page, 'welcome-brought')

  // What they cost, with nothing of our own beside it.
  await page.getByRole('link', { name: /^all of it cost/ }).click()
  await page.getByText('Nothing was used yet').waitFor()
  const byAgent = page.getByRole('region', { name: 'All agents by agent' })
  for (const agent of ['Claude Code', 'codex', 'gemini-cli', 'opencode', 'aider', 'goose'])
    await byAgent.getByRole('rowheader', { name: agent }).waitFor()
  await page.getByRole('figure', { name: /^Cost by month\. .*Claude Code \$/ }).waitFor()
  await looksRight(page, 'all-agents')
  await page.getByRole('combobox', { name: 'All agents, summed up by' }).click()
  await page.getByRole('option', { name: 'by project' }).click()
  await page
    .getByRole('region', { name: 'All agents by project' })
    .getByRole('rowheader', { name: 'project' })
    .first()
    .waitFor()

  // Apart from our own sessions, of which there are none.
  await page.getByRole('link', { name: 'Other agents' }).click()
  await page.getByRole('list', { name: 'Found on this machine' }).getByText('all here').first().waitFor()
  const left = page.getByRole('list', { name: 'Left out' })
  await left.getByText('rollout-broken.jsonl').waitFor()
  await looksRight(page, 'other-agents')
  await page.getByRole('radio', { name: /^claude/ }).check({ force: true })
  const brought = page.getByRole('list', { name: 'Sessions brought here' })
  await brought.getByText('codex', { exact: true }).first().waitFor({ state: 'detached' })
  await brought.getByRole('link').first().click()

  // Opened like our own, and continued with a model that it never had.
  await page.getByText('Brought from Claude Code.').waitFor()
  await page.getByRole('link', { name: 'Choose what should answer, and go on here' }).waitFor()
  await page.getByRole('button', { name: /^Model: / }).click()
  await page.getByRole('combobox', { name: 'Search models' }).fill('scripted/one')
  await page
    .getByRole('option', { name: 'Use scripted/one' })
    .or(page.getByRole('option', { name: /^one/ }))
    .first()
    .click()
  await page.getByText('Go on here with').waitFor()
  await looksRight(page, 'session-theirs')
  await page.getByLabel('Message', { exact: true }).fill('What does the file say now?')
  await page.keyboard.press('Enter')
  await page.getByRole('article', { name: 'The agent said' }).getByText(SAID).waitFor()
  await page.getByText('Brought from Claude Code.').waitFor({ state: 'detached' })
  await shot(page, 'session-went-on')

  // Now it is one of our own; the others stay apart.
  await page.goto(house.url)
  const theirs = page.getByRole('region', { name: 'Brought from other agents' })
  await theirs.getByRole('listitem').first().waitFor()
  await page.getByText(SAID).waitFor()
  expect(await theirs.getByText(SAID).count()).toBe(0)
  expect(await theirs.getByText('Claude Code', { exact: true }).count()).toBeLessThan(2)
  await looksRight(page, 'dashboard-theirs')
}, 120_000)

it('brings one agent by keys from anywhere, and again only what is new', async () => {
  const page = await house.visit('/history')
  await page.getByRole('heading', { name: 'Other agents' }).waitFor()
  await page.getByRole('list', { name: 'Found on this machine' }).waitFor()
  const again = join(house.home, '.claude/projects/-home-user-project')
  const file = join(again, readdirSync(again)[0]!)
  const copy = readFileSync(file, 'utf8').replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-/g, '0badcafe-0000-')
  writeFileSync(join(again, '0badcafe-0000-47c7-9dc0-f9ff9f969ae7.jsonl'), copy)
  await page.keyboard.press('r')
  const claude = page.getByRole('listitem').filter({ hasText: 'Claude Code' }).filter({ hasText: '.claude/projects' })
  await claude.getByText('1 new').waitFor()
  await claude.getByRole('button', { name: 'Bring the sessions of Claude Code' }).click()
  await claude.getByText('all here').waitFor()
  await page.getByRole('status').filter({ hasText: 'messages in' }).getByText('1 new, 2 as before').waitFor()

  await page.goto(`${house.url}/tasks`)
  await page.getByRole('heading', { name: 'Tasks', exact: true }).waitFor()
  await page.keyboard.press('Control+k')
  await page.getByPlaceholder('Search sessions, pages and commands …').fill('bring sessions')
  await page.getByText('Bring sessions of other agents').waitFor()
  await page.keyboard.press('Enter')
  await page.getByRole('status').filter({ hasText: 'There was nothing new.' }).waitFor()
}, 60_000)

it('says that the folder of a session is gone, and goes on with it in another', async () => {
  const page = await house.visit('/history')
  await page.getByRole('list', { name: 'Sessions brought here' }).getByRole('link', { name: 'Count the lines' }).click()
  await page.getByText('It has two lines, says goose.').waitFor()
  await page
    .getByRole('button', { name: /^Model: / })
    .first()
    .click()
  await page.getByRole('combobox', { name: 'Search models' }).fill('scripted/one')
  await page.getByRole('option').first().click()
  await page.getByText('Go on here with').waitFor()
  await page.getByLabel('Message', { exact: true }).fill('And how many words?')
  await page.keyboard.press('Enter')
  await page.getByRole('alert').getByText('The folder of this session is gone: /home/user/project.').waitFor()
  await looksRight(page, 'folder-gone')
  await page.getByRole('button', { name: 'Go on in another folder' }).click()
  await page.getByRole('dialog').getByLabel('Directory').fill(house.workspace)
  await page.getByRole('button', { name: 'Go on there' }).click()
  await page.getByRole('article', { name: 'The agent said' }).getByText(SAID).waitFor()
  await page.getByText('And how many words?').waitFor()
  expect(await page.getByRole('list', { name: 'Not sent yet' }).count()).toBe(0)
}, 60_000)
