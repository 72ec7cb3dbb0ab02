import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { violationsOn } from './axe'
import { House } from './house'
import { ask } from './line'

const call = (name: string, given: Record<string, unknown>) => ({ name, arguments: given })
const SCRIPT = {
  conversations: [
    {
      match: { said: 'change it' },
      steps: [{ tool_calls: [call('write_file', { path: 'app.py', content: 'changed\n' })] }, { text: 'Changed.' }],
    },
    {
      match: { said: 'clean up' },
      steps: [{ tool_calls: [call('shell', { command: 'rm -rf build && echo gone' })] }, { text: 'Cleaned.' }],
    },
    { steps: [{ text: 'Hello.' }], loop: true },
  ],
}
const SETTINGS = '[jail]\nkind = "host"\n[limits]\nask_timeout = 3600.0\n'
const FLOW = 'description = "Looks"\n[[step]]\nname = "look"\ntemplate = "researcher"\ntask = "Look"\n'
const SKILL = '---\nname: release\ndescription: When a release is cut.\n---\n# Release\n\nTag it.\n'
const HOOKS = {
  hooks: { PreToolUse: [{ matcher: 'web_fetch', hooks: [{ type: 'command', command: 'exit 0' }] }] },
}

/** Enough to be sure that the focus does not leave a dialog with very many rows. */
const MOST_STOPS = 40

let house: House
let changed: string
let waiting: string
let aside: string

/** One of everything that a dialog can be about. */
beforeAll(async () => {
  aside = mkdtempSync(join(tmpdir(), 'openagent-forge-'))
  writeFileSync(join(aside, 'gh'), '#!/bin/sh\n')
  chmodSync(join(aside, 'gh'), 0o755)
  house = await House.open(SCRIPT, SETTINGS, { env: { PATH: `${aside}:${process.env.PATH}` } })
  const put = (name: string, text: string) => {
    mkdirSync(join(house.workspace, name, '..'), { recursive: true })
    writeFileSync(join(house.workspace, name), text)
  }
  put('app.py', 'first\n')
  put('.openagent/flows/look.toml', FLOW)
  put('.openagent/skills/release/SKILL.md', SKILL)
  put('.openagent/hooks.json', JSON.stringify(HOOKS))
  const git = (...words: string[]) =>
    execFileSync('git', ['-C', house.workspace, '-c', 'user.name=a', '-c', 'user.email=a@b', ...words])
  git('init', '-q', '-b', 'main')
  git('add', '-A')
  git('commit', '-qm', 'first')
  git('remote', 'add', 'origin', 'https://forge.test/team/project.git')
  await house.run('trust')
  const data = join(house.home, 'data')
  const copy = await ask(data, 'workspaces.create', { cwd: house.workspace, name: 'attempt', method: 'copy' })
  const session = await house.session({ name: 'change it' })
  changed = session.path
  await ask(data, 'message.send', { session: session.id, text: 'change it' })
  writeFileSync(join(copy.path, 'app.py'), 'other\n')
  const asking = await house.session({ name: 'clean up', mode: 'ask' })
  waiting = asking.path
  await ask(data, 'message.send', { session: asking.id, text: 'clean up' })
  await ask(data, 'mcp.add', { name: 'mine', server: { command: 'my-server' } })
  await ask(data, 'task.create', { title: 'Write it down', cwd: house.workspace })
  await ask(data, 'templates.import', { text: '---\nname: greeter\ndescription: Says hello.\n---\n\nBe kind.\n' })
})
afterAll(async () => {
  await house.close()
  rmSync(aside, { recursive: true })
})

interface Opened {
  what: string
  /** What has the focus before, and gets it back. Without it: what is told by `open` itself. */
  from?: (page: Page) => Locator
  open: (page: Page) => Promise<unknown>
}

const dialog = (page: Page) => page.getByRole('dialog')
const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name, exact: true }).first()
/** What opens as a dialog when these are pressed, one after the other. */
const by = (what: string, first: string | RegExp, ...rest: (string | RegExp)[]): Opened => ({
  what,
  from: (page) => button(page, first),
  open: async (page) => {
    await page.keyboard.press('Enter')
    for (const name of rest) await page.getByRole('menuitem', { name }).press('Enter')
    await dialog(page).waitFor()
  },
})
const menu = (what: string, name: string | RegExp): Opened => ({
  what,
  from: (page) => button(page, name),
  open: async (page) => {
    await page.keyboard.press('Enter')
    await page.getByRole('menuitem').first().waitFor()
  },
})
/** By a key that counts wherever the focus is: on the first link of the page, say. */
const key = (what: string, keys: string): Opened => ({
  what,
  from: (page) => page.getByRole('main').getByRole('link').or(page.getByRole('main').getByRole('button')).first(),
  open: async (page) => {
    await page.keyboard.press(keys)
    await dialog(page).waitFor()
  },
})

/** Where the focus is: in what lies over the page, or on what. */
const focused = (page: Page) =>
  page.evaluate(() => {
    const at = document.activeElement as HTMLElement
    if (at.closest('[data-portal]')) return 'over the page'
    return `${at.tagName.toLowerCase()} ${at.getAttribute('aria-label') ?? at.textContent?.slice(0, 30) ?? ''}`
  })

/** Once around all that is in it and on, and one back: the focus stays. */
async function holdsTheFocus(page: Page): Promise<void> {
  await expect.poll(() => focused(page)).toBe('over the page')
  if ((await dialog(page).count()) === 0) return // a menu or a list closes with Tab
  const stops = dialog(page).locator('a[href], button, input, textarea, select, [tabindex="0"]')
  for (let left = Math.min(await stops.count(), MOST_STOPS) + 2; left > 0; left -= 1) {
    await page.keyboard.press('Tab')
    expect(await focused(page)).toBe('over the page')
  }
  await page.keyboard.press('Shift+Tab')
  expect(await focused(page)).toBe('over the page')
}

/** Opens one after the other by keys: each takes the focus and holds it, bars nobody in both themes, goes with Esc and gives the focus back. */
async function barNobody(address: string, ready: string | RegExp, all: Opened[]): Promise<void> {
  const page = await house.visit(address)
  const wrong: string[] = []
  await page.getByText(ready).first().waitFor()
  for (const { what, from, open } of all) {
    await from?.(page).focus()
    const before = await focused(page)
    try {
      await open(page)
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme })
        const looked = colorScheme === 'light' ? 'everything' : 'colours'
        wrong.push(...(await violationsOn(page, looked)).map((one) => `${what}, ${colorScheme}: ${one}`))
      }
      await holdsTheFocus(page)
      const list = await page.getByRole('listbox').isVisible()
      await page.keyboard.press('Escape')
      if (list && (await dialog(page).count()) > 0) await page.keyboard.press('Escape') // the list that was open goes first
      await page.getByRole('dialog').or(page.getByRole('menu')).first().waitFor({ state: 'detached' })
      await expect.poll(() => focused(page)).toBe(before)
    } catch (problem) {
      throw new Error(`${what}: ${problem}`)
    }
  }
  expect(wrong).toEqual([])
}

it('bars nobody from what opens over every page', async () => {
  await barNobody('/', 'change it', [
    key('keys', '?'),
    key('palette', 'Control+k'),
    {
      what: 'new session, with folders to choose from',
      from: (page) => button(page, 'New session'),
      open: async (page) => {
        await page.keyboard.press('n')
        await dialog(page).getByRole('button', { name: 'Browse' }).press('Enter')
        await page.locator('.folder-browser').waitFor()
      },
    },
    by('importing a session', 'More', /^Import a session/),
  ])
})

it('bars nobody from the dialogs of a session', async () => {
  await barNobody(changed, 'Changed.', [
    menu('more', 'More'),
    by('settings', 'More', /^Settings/),
    by('context', 'More', /^Context/),
    by('rewind', 'More', /^Rewind/),
    by('deleting', 'More', /^Delete/),
    menu('mode', /^mode/),
    by('tools', 'Tools and MCP servers'),
    {
      what: 'models',
      from: (page) => page.getByRole('button', { name: /^Model:/ }),
      open: async (page) => {
        await page.keyboard.press('Enter')
        await page.getByRole('option').first().waitFor()
      },
    },
    key('quick open', 'Control+p'),
    by('a changed file', /^M app\.py/),
    by('an answer as it came', 'As the provider saw it'),
  ])
})

it('bars nobody from review, questions and comparing', async () => {
  await barNobody(`${changed}?tab=review`, 'app.py', [
    by('commit', 'Commit …'),
    by('pull request', 'Open pull request …'),
    by('conflicts', 'Merge attempt'),
  ])
  await barNobody(waiting, 'rm -rf build', [
    {
      what: 'the whole question',
      from: (page) => page.getByRole('region', { name: 'Permission needed' }).getByRole('button').first(),
      open: async (page) => {
        await page.keyboard.press('v')
        await dialog(page).waitFor()
      },
    },
  ])
  const page = await house.visit(`${changed}?tab=files&file=app.py`)
  await page.locator('.view-line').first().waitFor()
  await page.locator('.monaco-editor .native-edit-context').focus()
  await page.keyboard.type('mine ')
  await page.locator('.files-changed').waitFor()
  await page.reload()
  await page.getByRole('button', { name: 'Compare' }).click()
  await page.locator('.monaco-diff-editor .view-line').first().waitFor()
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    expect(await violationsOn(page)).toEqual([])
  }
})

it('bars nobody from the dialogs of the other pages', { timeout: 240_000 }, async () => {
  await barNobody('/tasks', 'Write it down', [
    by('new task', 'New task'),
    by('a task', 'Write it down'),
    by('syncing with a file', 'Sync with a file'),
    by('importing issues', 'Import issues'),
  ])
  await barNobody('/flows', 'Looks', [by('running a flow', 'Run look'), by('writing a flow', 'Write or check one')])
  await barNobody('/workspaces', 'attempt', [
    by('new copy', 'New copy'),
    by('packing', 'Space and backups', /^Pack/),
    by('unpacking', 'Space and backups', /^Unpack/),
    by('removing a copy', 'More about attempt', /^Remove/),
  ])
  await barNobody('/templates', 'greeter', [
    by('new template', 'New template'),
    by('a template', 'More about greeter', 'Edit'),
    by('starting', 'Start a session from greeter'),
    by('deleting a template', 'More about greeter', 'Delete'),
  ])
  await barNobody('/skills', 'When a release is cut', [by('a skill', /^Read/)])
  await barNobody('/hooks', 'PreToolUse', [by('trying hooks', /^Try/)])
  await barNobody('/settings/mcp', 'mine', [
    menu('adding a server', 'Add a server'),
    by('catalogue', 'Add a server', 'From the catalogue'),
    by('server by command', 'Add a server', 'By its command'),
    by('server by address', 'Add a server', 'By its address'),
    by('importing servers', 'Add a server', /^From another/),
    by('editing a server', 'More about mine', 'Edit'),
    by('removing a server', 'More about mine', 'Remove'),
  ])
  await barNobody('/auth', 'Access tokens', [
    by('new key', 'Add a key'),
    by('new provider', 'Add a provider'),
    by('new token', 'New token'),
    by('new login', 'Log in to a provider'),
  ])
  await barNobody('/settings', 'Trusted folders', [by('trust taken back', /^Revoke/)])
  await barNobody('/audit', 'app.py', [menu('export', 'Export')])
})
