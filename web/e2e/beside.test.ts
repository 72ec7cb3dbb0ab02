import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { violationsOn } from './axe'
import { House } from './house'

const call = (name: string, given: Record<string, unknown>) => ({ name, arguments: given })
const LINES = Array.from({ length: 60 }, (_, index) => `line${index + 1} = ${index + 1}`).join('\n')
/** A red dot of one pixel. */
const DOT = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=='

const SCRIPT = {
  conversations: [
    {
      match: 'where is it',
      steps: [
        {
          text: 'I look.',
          tool_calls: [
            call('read_file', { path: 'src/a.py', start: 5, lines: 2 }),
            call('shell', { command: 'echo src/b.py:7: oops; exit 1' }),
          ],
        },
        { text: 'It is in `src/a.py:40`, told in [the notes](docs/notes.md#L2). See also deep/c.py:3.' },
      ],
    },
    {
      match: 'change a file',
      steps: [
        { tool_calls: [call('shell', { command: 'echo by_the_agent = 1 > src/a.py' })] },
        { text: 'Changed it.' },
      ],
    },
    {
      match: 'hand it over',
      steps: [
        { tool_calls: [call('agent', { tasks: [{ template: 'researcher', task: 'Count the sheep.' }] })] },
        { text: 'They counted.' },
      ],
    },
    { match: 'Count the sheep', steps: [{ text: 'There are **seventeen** sheep.' }] },
    { steps: [{ text: 'Hello.' }], loop: true },
  ],
}

let house: House
const at = (...path: string[]) => join(house.workspace, ...path)

beforeAll(async () => {
  house = await House.open(SCRIPT)
  for (const folder of ['src', 'docs', 'src/deep']) mkdirSync(at(folder))
  writeFileSync(at('src', 'b.py'), `${LINES}\n`)
  writeFileSync(at('src', 'deep', 'c.py'), `${LINES}\n`)
  writeFileSync(at('docs', 'notes.md'), '# Notes\nhere\n')
  writeFileSync(at('dot.png'), Buffer.from(DOT, 'base64'))
  renew()
  const git = (...given: string[]) => execFileSync('git', given, { cwd: house.workspace })
  git('init', '-q')
  git('add', '-A')
  git('-c', 'user.name=a', '-c', 'user.email=a@b', 'commit', '-qm', 'first')
})
afterAll(() => house.close())

function renew(): void {
  writeFileSync(at('src', 'a.py'), `${LINES}\n`)
}

async function send(page: Page, text: string): Promise<void> {
  await page.getByLabel('Message', { exact: true }).fill(text)
  await page.keyboard.press('Enter')
}

const beside = (page: Page) => page.getByRole('region', { name: 'Beside the conversation' })
const shown = (page: Page, text: string) => page.locator('.view-line').filter({ hasText: text }).first().waitFor()

async function type(page: Page, text: string): Promise<void> {
  await page.locator('.monaco-editor textarea, .monaco-editor .native-edit-context').first().focus()
  await page.keyboard.press('Control+Home')
  await page.keyboard.type(text)
  await page.locator('.files-changed').waitFor()
}

it('opens what is named beside the conversation, at its line, and a link brings it back', async () => {
  const { path } = await house.session()
  const page = await house.visit(path)
  await send(page, 'where is it')
  const answer = page.getByRole('article', { name: 'The agent said' })
  await answer.getByRole('button', { name: 'src/a.py:40' }).click()
  await page.waitForURL(/beside=files&file=src%2Fa.py&line=40/)
  await shown(page, 'line40 = 40')
  await page.locator('.editor-line').waitFor()
  await answer.getByText('It is in').waitFor()

  const border = page.getByRole('separator', { name: 'Width of the conversation' })
  const before = Number(await border.getAttribute('aria-valuenow'))
  await border.focus()
  await page.keyboard.press('ArrowRight')
  expect(Number(await border.getAttribute('aria-valuenow'))).toBe(before + 5)
  expect(await violationsOn(page)).toEqual([])
  await page.reload()
  await shown(page, 'line40 = 40')
  expect(Number(await border.getAttribute('aria-valuenow'))).toBe(before + 5)

  await answer.getByRole('button', { name: 'the notes' }).click()
  await shown(page, 'here')
  await answer.getByRole('button', { name: 'deep/c.py:3' }).click()
  await page.waitForURL(/file=src%2Fdeep%2Fc.py&line=3/) // named from another folder, and the only one
  await page
    .getByRole('button', { name: /echo src/ })
    .first()
    .click()
  await page.locator('.tool-output').getByRole('button', { name: 'src/b.py:7' }).click()
  await page.waitForURL(/file=src%2Fb.py&line=7/)
  await page.getByRole('button', { name: 'Open src/a.py' }).click()
  await page.waitForURL(/file=src%2Fa.py&line=5/)

  await page.goto(house.url)
  await page.getByRole('heading', { name: 'Sessions' }).waitFor()
  await page.goto(house.url + path)
  await page.waitForURL(/beside=files&file=src%2Fa.py/) // kept for the session
  await beside(page).waitFor()
  await page.keyboard.press('F6')
  await expect
    .poll(() => page.evaluate(() => document.getElementById('beside')?.contains(document.activeElement)))
    .toBe(true)
  await page.getByRole('button', { name: 'Close what is beside' }).click()
  await beside(page).waitFor({ state: 'detached' })
  await page.getByRole('complementary').getByText('Usage').waitFor()
})

it('shows on a phone as tabs what stands side by side elsewhere', async () => {
  const { path } = await house.session()
  const page = await house.visit(`${path}?beside=files&file=src/a.py&line=40`, {
    viewport: { width: 390, height: 844 },
  })
  await shown(page, 'line40 = 40')
  expect(await page.getByRole('tab', { name: 'files' }).getAttribute('aria-selected')).toBe('true')
  expect(await page.getByLabel('Message', { exact: true }).count()).toBe(0)
  expect(await violationsOn(page)).toEqual([])
  await page.getByRole('tab', { name: 'chat' }).click()
  await page.getByLabel('Message', { exact: true }).waitFor()
})

it('loses nothing that is not saved, and overwrites nobody', async () => {
  renew()
  const { path } = await house.session()
  const page = await house.visit(`${path}?beside=files&file=src/a.py`)
  await shown(page, 'line1 = 1')
  await type(page, 'mine = 1 # ')
  await page.getByRole('button', { name: 'Show or hide the tree' }).click()
  await page.getByRole('treeitem', { name: 'b.py' }).click()
  await shown(page, 'line1 = 1')
  expect(await page.locator('.files-changed').count()).toBe(0)
  await beside(page).getByRole('tab', { name: 'terminal' }).click()
  await page.locator('.xterm-rows').getByText('$').first().waitFor()
  await house.stopDaemon('SIGKILL')
  await page.getByText('The daemon cannot be reached.').waitFor()
  await house.startDaemon()
  await page.getByText('The daemon cannot be reached.').waitFor({ state: 'detached' })
  await page.goto(`${house.url}${path}?beside=files&file=src/b.py`)
  await page.getByRole('button', { name: 'Show or hide the tree' }).click()
  await page.getByRole('region', { name: 'Not saved' }).getByRole('button', { name: 'src/a.py' }).click()
  const notice = page.getByRole('status').filter({ hasText: 'is back, and not saved' })
  await notice.waitFor()
  await shown(page, 'mine = 1')
  await notice.getByRole('button', { name: 'Compare' }).click()
  await page.locator('.monaco-diff-editor').waitFor()
  await notice.getByRole('button', { name: 'Edit' }).click()
  await notice.getByRole('button', { name: 'Discard' }).click()
  await page.getByRole('button', { name: 'Bring it back' }).click()
  await shown(page, 'mine = 1')
  expect(readFileSync(at('src', 'a.py'), 'utf8')).toBe(`${LINES}\n`)

  await send(page, 'change a file')
  const conflict = page.getByRole('alert').filter({ hasText: 'changed meanwhile' })
  await conflict.waitFor()
  await shown(page, 'mine = 1')
  await page.keyboard.press('Control+s')
  await conflict.waitFor()
  expect(readFileSync(at('src', 'a.py'), 'utf8')).toBe('by_the_agent = 1\n')
  await conflict.getByRole('button', { name: 'Compare' }).click()
  await page.locator('.monaco-diff-editor').waitFor()
  await conflict.getByRole('button', { name: 'Keep mine' }).click()
  await conflict.waitFor({ state: 'detached' })
  expect(readFileSync(at('src', 'a.py'), 'utf8')).toMatch(/^mine = 1 # line1 = 1\n/)
  await page.reload()
  await shown(page, 'mine = 1')
  expect(await page.locator('.files-changed').count()).toBe(0)
})

it('opens any file by a few letters, shows pictures, and marks what changed', async () => {
  renew()
  writeFileSync(at('src', 'b.py'), 'other = 1\n')
  writeFileSync(at('fresh.txt'), 'new\n')
  const { path } = await house.session()
  const page = await house.visit(path)
  await page.getByLabel('Message', { exact: true }).focus()
  await page.keyboard.press('Control+p')
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Letters of a file’s path').fill('sb:20')
  await dialog.getByRole('option', { name: /b\.py/ }).first().waitFor()
  expect(await violationsOn(page)).toEqual([])
  await dialog.getByLabel('Letters of a file’s path').fill('dot')
  await dialog.getByRole('option', { name: /dot\.png/ }).waitFor()
  await page.keyboard.press('Enter')
  const picture = page.getByRole('img', { name: 'dot.png' })
  await picture.waitFor()
  expect(await picture.evaluate((image: HTMLImageElement) => image.naturalWidth)).toBe(1)
  await page.getByRole('button', { name: 'The whole width' }).click()
  await page.getByRole('treeitem', { name: 'fresh.txt new since the last commit' }).waitFor()
  await page.getByRole('treeitem', { name: /^src something in it/ }).click()
  await page.getByRole('treeitem', { name: 'b.py modified since the last commit' }).waitFor()
  expect(await page.getByRole('treeitem', { name: 'a.py', exact: true }).count()).toBe(1)
  await page.getByRole('tab', { name: 'chat' }).click()
  await send(page, 'change a file')
  await page.getByText('Changed it.').waitFor()
  await page.getByRole('tab', { name: 'files' }).first().click()
  await page.getByRole('treeitem', { name: 'a.py modified since the last commit, changed by this session' }).waitFor()
})

it('shows a shell and an agent’s conversation beside, and both are there after a reload', async () => {
  const { path } = await house.session()
  const page = await house.visit(path)
  await page.getByRole('button', { name: 'Side by side' }).click()
  await beside(page).getByRole('tab', { name: 'terminal' }).click()
  await page.locator('.xterm-helper-textarea').focus()
  await page.keyboard.type('kept=41; echo sum-$((kept + 1))\n')
  await page.locator('.xterm-rows').getByText('sum-42').waitFor()
  await page.reload()
  await page.locator('.xterm-rows').getByText('sum-42').waitFor()
  await page.locator('.xterm-helper-textarea').focus()
  await page.keyboard.type('echo still-$kept\n')
  await page.locator('.xterm-rows').getByText('still-41').waitFor()
  await page.keyboard.press('F6')
  await page.keyboard.type('hand it over')
  await page.keyboard.press('Enter')
  await page.getByText('They counted.').waitFor()
  await beside(page).getByRole('tab', { name: 'agents' }).click()
  await beside(page).getByText('seventeen').waitFor()
  await page.waitForURL(/beside=agent/)
  expect(await violationsOn(page)).toEqual([])
  await page.reload()
  await beside(page).getByText('seventeen').waitFor()
})
