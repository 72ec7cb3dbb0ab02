import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { violationsOn } from './axe'
import { House } from './house'
import { has, hasFocus } from './keyboard'
import { ask } from './line'

const call = (name: string, given: Record<string, unknown>) => ({ name, arguments: given })
const shell = (command: string) => ({ tool_calls: [call('shell', { command })] })
const LINES = Array.from({ length: 40 }, (_, index) => `value_${index + 1} = ${index + 1}`)

const SCRIPT = {
  conversations: [
    {
      match: 'change it',
      steps: [
        shell("sed -i -e 's/^value_3 = 3$/value_3 = 33/' -e 's/^value_30 = 30$/value_30 = old + 30/' app.py"),
        { text: 'Changed.' },
        shell('mkdir -p docs && echo "# Notes" > docs/notes.md'),
        { text: 'Written.' },
        { text: 'Only talk: {last_user}' },
        { text: 'Understood.' },
      ],
    },
    {
      match: 'write at length',
      steps: [shell('for n in $(seq 9000); do echo line $n; done > long.txt'), { text: 'Long.' }],
    },
    {
      match: 'build it',
      steps: [
        shell("printf 'all:\\n' > Makefile; mkdir -p .vscode; echo '{}' > .vscode/tasks.json; echo plain > plain.txt"),
        { text: 'Built.' },
      ],
    },
    {
      match: 'compile it',
      steps: [
        shell('mkdir -p __pycache__; for n in a b c d; do echo $n > __pycache__/$n.pyc; done; echo made > made.py'),
        { text: 'Compiled.' },
      ],
      loop: true,
    },
    { steps: [{ text: 'Fine.' }], loop: true },
  ],
}

const PATIENTLY = { timeout: 15_000 }

let house: House
let aside: string
const path = process.env.PATH

const git = (...words: string[]) =>
  execFileSync('git', ['-C', house.workspace, ...words], {
    encoding: 'utf8',
    env: { ...process.env, HOME: house.home },
  }).trim()
const at = (...names: string[]) => join(house.workspace, ...names)

beforeAll(async () => {
  aside = mkdtempSync(join(tmpdir(), 'openagent-forge-'))
  writeFileSync(
    join(aside, 'gh'),
    `#!/bin/sh\nprintf '%s|' "$@" > ${aside}/asked\necho https://forge.test/team/project/pull/7\n`,
  )
  chmodSync(join(aside, 'gh'), 0o755)
  process.env.PATH = `${aside}:${path}`
  house = await House.open(SCRIPT)
  writeFileSync(join(house.home, '.gitconfig'), '[user]\n\tname = Ada\n\temail = ada@example.org\n')
  execFileSync('git', ['init', '-q', '--bare', '-b', 'main', join(aside, 'far.git')])
  git('init', '-q', '-b', 'main')
  writeFileSync(at('app.py'), `${LINES.join('\n')}\n`)
  writeFileSync(at('mine.txt'), 'mine\n')
  git('add', '-A')
  git('commit', '-qm', 'first')
  git('remote', 'add', 'origin', join(aside, 'far.git'))
  git('push', '-q', 'origin', 'main')
})
afterAll(async () => {
  process.env.PATH = path
  await house.close()
  rmSync(aside, { recursive: true, force: true })
})

const send = async (page: Page, text: string, answer: string) => {
  await page.getByLabel('Message', { exact: true }).fill(text)
  await page.keyboard.press('Enter')
  await page.getByRole('article', { name: 'The agent said' }).getByText(answer).waitFor()
}

/** Lives through the first two tests. */
let fixing: { id: string; path: string }

it('is looked through, taken back in part and commented on', async () => {
  fixing = await house.session({ name: 'fix the values' })
  const { id, path } = fixing
  const page = await house.visit(path)
  await send(page, 'change it', 'Changed.')
  await send(page, 'and write', 'Written.')
  await send(page, 'then talk', 'Only talk')
  writeFileSync(at('mine.txt'), 'by hand\n')

  await page.getByRole('tab', { name: 'review' }).click()
  const card = page.getByRole('region', { name: 'Changes in app.py' })
  await card.getByText('value_30 = old + 30').waitFor()
  const others = page.getByRole('region', { name: 'Others since' })
  await others.getByRole('button', { name: /mine\.txt/ }).click()
  await page.getByRole('region', { name: 'Changes in mine.txt' }).getByText('by hand').waitFor()
  await page.getByRole('button', { name: 'Back to the session’s changes' }).click()

  // Both layouts, kept; a real diff has the file's own line numbers.
  await page.getByRole('radio', { name: 'unified' }).check()
  const changed = card.locator('tr.diff-added', { hasText: 'value_30' })
  expect(await changed.locator('.diff-number').allTextContents()).toEqual(['', '30'])
  expect(await changed.locator('.diff-lit').first().textContent()).toBe('old + ')
  expect(await violationsOn(page)).toEqual([])
  await page.reload()
  await changed.waitFor()
  await page.getByRole('radio', { name: 'split' }).check()
  await card.locator('.review-split').waitFor()

  // A hunk goes back, comes again, and the rest stays.
  await card.getByRole('button', { name: 'Revert hunk 2 of app.py' }).click()
  await page.getByText('The hunk is taken back').waitFor()
  await card.getByText('hunk 2').waitFor({ state: 'detached' })
  expect(readFileSync(at('app.py'), 'utf8')).toContain('value_3 = 33\n')
  expect(readFileSync(at('app.py'), 'utf8')).toContain('value_30 = 30\n')
  await page.getByRole('button', { name: 'Bring it back' }).click()
  await card.getByText('value_30 = old + 30').waitFor()
  await card.getByRole('button', { name: 'Keep app.py' }).click()
  await card.getByRole('button', { name: 'Keep app.py', pressed: true }).waitFor()
  await card.getByRole('button', { name: 'Show app.py' }).click()

  // What is said of a line reaches the agent with the line.
  await card.getByRole('button', { name: 'Comment on line 30', exact: true }).focus()
  await page.keyboard.press('Enter')
  await page.getByLabel('Comment to the agent').fill('Name it better.')
  await page.keyboard.press('Control+Enter')
  await page.getByText('Sent to the agent').waitFor()
  const home = join(house.home, 'data')
  const last = async () => {
    const { messages } = await ask(home, 'messages.page', { session: id })
    return JSON.stringify(messages.filter(({ role }) => role === 'user').at(-1)?.parts)
  }
  await expect.poll(last).toContain('About `app.py`, line 30:\\n\\n> `value_30 = old + 30`\\n\\nName it better.')
})

it('commits what the session changed and nothing beside it, and opens a pull request', async () => {
  const page = await house.visit(`${fixing.path}?tab=review`)
  await page.getByRole('button', { name: 'Commit …' }).click()
  const commit = page.getByRole('dialog', { name: 'Commit' })
  expect(await commit.getByLabel('Message').inputValue()).toBe('Fix the values')
  expect(await violationsOn(page)).toEqual([])
  await commit.getByLabel('New branch').fill('fix/values')
  await commit.getByRole('button', { name: 'Commit' }).click()
  await page.getByText('2 files on fix/values: Fix the values').waitFor()
  const again = page.getByRole('button', { name: 'Commit …' })
  await has(again, 'the focus', () => hasFocus(again))
  expect(git('show', '--name-only', '--format=%an').split('\n').filter(Boolean)).toEqual([
    'Ada',
    'app.py',
    'docs/notes.md',
  ])
  expect(git('status', '--porcelain')).toBe('M mine.txt')

  await page.getByRole('button', { name: 'Open pull request …' }).click()
  const request = page.getByRole('dialog', { name: 'Open a pull request' })
  await request.getByLabel('Description').fill('Why it is so.')
  expect(await violationsOn(page)).toEqual([])
  await request.getByRole('button', { name: 'Push and open' }).click()
  await request.getByRole('link', { name: 'https://forge.test/team/project/pull/7' }).waitFor()
  expect(readFileSync(join(aside, 'asked'), 'utf8')).toBe(
    'pr|create|--title|Fix the values|--body|Why it is so.|--head|fix/values|--base|main|',
  )
  expect(git('ls-remote', 'origin', 'refs/heads/fix/values')).toContain(git('rev-parse', 'HEAD'))
})

it('offers to commit while changes keep coming, faster than git answers', async () => {
  const { id, path } = await house.session()
  writeFileSync(at('app.py'), `${LINES.join('\n')}\n`)
  const page = await house.visit('/')
  const answers: (() => void)[] = []
  await page.routeWebSocket(/./, (line) => {
    const daemon = line.connectToServer()
    const asked = new Set<string>()
    line.onMessage((said) => {
      const { op, id: number } = JSON.parse(String(said)) as { op: string; id: string }
      if (op === 'git.status') asked.add(number)
      daemon.send(said)
    })
    daemon.onMessage((said) => {
      const { op_id: number = '' } = JSON.parse(String(said)) as { op_id?: string }
      if (asked.has(number)) answers.push(() => line.send(said))
      else line.send(said)
    })
  })
  await page.goto(`${house.url}${path}?tab=review`)
  await expect.poll(() => answers.length, PATIENTLY).toBe(1)
  await ask(join(house.home, 'data'), 'message.send', { session: id, text: 'change it' })
  await page.getByRole('region', { name: 'Changes in app.py' }).waitFor()
  answers[0]!()
  await page.getByRole('button', { name: 'Commit …' }).waitFor()
  await expect.poll(() => answers.length, PATIENTLY).toBeGreaterThan(1) // what changed meanwhile is asked about, too
})

it('undoes what the preview said, says the same number, and offers the way back', async () => {
  const { path } = await house.session()
  writeFileSync(at('app.py'), `${LINES.join('\n')}\n`)
  rmSync(at('docs'), { recursive: true, force: true })
  const page = await house.visit(path)
  await send(page, 'change it', 'Changed.')
  await send(page, 'and write', 'Written.')
  await send(page, 'then talk', 'Only talk')
  await page.getByRole('button', { name: 'Undo …' }).click()
  const dialog = page.getByRole('dialog', { name: 'Rewind' })
  await dialog.getByText('1 file goes back').waitFor()
  expect(await dialog.getByLabel('To before').inputValue()).toMatch(/^turn 2/)
  await dialog.getByLabel('To before').click()
  await page.getByRole('option', { name: /^turn 1/ }).click()
  await dialog.getByText('2 files go back').waitFor()
  await dialog.getByRole('checkbox', { name: 'Undo app.py' }).uncheck()
  await dialog.getByText('1 file goes back').waitFor()
  await dialog.getByRole('button', { name: 'Rewind' }).click()
  await page.getByText('1 file is as before.').waitFor()
  expect(existsSync(at('docs/notes.md'))).toBe(false)
  expect(readFileSync(at('app.py'), 'utf8')).not.toBe(`${LINES.join('\n')}\n`)
  await page.getByText('then talk').first().waitFor()
  await page.getByRole('button', { name: 'Bring it back' }).first().click()
  await page.getByText('The rewind was taken back.').waitFor()
  await page.getByRole('button', { name: 'Undo …' }).click()
  await dialog.getByLabel('To before').click()
  await page.getByRole('option', { name: /^turn 1/ }).click()
  await dialog.getByText('2 files go back').waitFor()
  await dialog.getByRole('button', { name: 'Rewind' }).click()
  await page.getByText('2 files are as before.').waitFor()
  expect(existsSync(at('docs/notes.md'))).toBe(false)
  await page.getByRole('button', { name: 'Bring it back' }).click()
  await page.getByText('The rewind was taken back.').waitFor()
  await expect.poll(() => existsSync(at('docs/notes.md'))).toBe(true)
})

it('marks the files that run outside the sandbox wherever they are shown', async () => {
  git('switch', '-qc', 'build')
  const { path } = await house.session()
  const page = await house.visit(path)
  await send(page, 'build it', 'Built.')
  const mark = 'runs outside the sandbox: make or build'
  await page.getByRole('complementary').getByRole('img', { name: mark }).waitFor()
  await page.getByRole('button', { name: 'Undo …' }).click()
  const rewind = page.getByRole('dialog', { name: 'Rewind' })
  await rewind.getByText(mark).waitFor()
  expect(await violationsOn(page)).toEqual([])
  await rewind.getByRole('button', { name: 'Cancel' }).click()
  await page.getByRole('tab', { name: 'review' }).click()
  await page.getByRole('region', { name: 'Changes in Makefile' }).getByText(mark).waitFor()
  expect(await page.getByRole('region', { name: 'Changes in plain.txt' }).getByText('runs outside').count()).toBe(0)
  expect(await violationsOn(page)).toEqual([])
  await page.getByRole('button', { name: 'Commit …' }).click()
  const commit = page.getByRole('dialog')
  await commit.getByText(mark).waitFor()
  await commit.getByLabel('Message').fill('Build it')
  await commit.getByRole('button', { name: 'Commit' }).click()
  await page.getByRole('button', { name: 'Open pull request …' }).click()
  const request = page.getByRole('dialog', { name: 'Open a pull request' })
  await request
    .getByRole('list', { name: 'Files that run outside the sandbox' })
    .getByText('.vscode/tasks.json')
    .waitFor()
  await request.getByRole('button', { name: 'Cancel' }).click()
  git('switch', '-q', 'main')
})

it('folds what git ignores wherever changes are shown', async () => {
  writeFileSync(at('.gitignore'), '__pycache__/\n')
  const { path } = await house.session({ name: 'compiling' })
  const page = await house.visit(path)
  await send(page, 'compile it', 'Compiled.')
  const line = /^4 ignored files \+4 −0 __pycache__\/a\.pyc, __pycache__\/b\.pyc, __pycache__\/c\.pyc, …$/
  const side = page.getByRole('complementary')
  const fold = side.getByRole('button', { name: line })
  await side.getByRole('button', { name: /made\.py/ }).waitFor()
  await fold.waitFor()
  expect(await side.getByRole('button', { name: /d\.pyc/ }).count()).toBe(0)
  await fold.click()
  await side.getByRole('button', { name: /d\.pyc/ }).click()
  await page.getByRole('dialog', { name: '__pycache__/d.pyc' }).getByText('d', { exact: true }).waitFor()
  await page.keyboard.press('Escape')

  await page.getByRole('button', { name: 'Undo …' }).click()
  const rewind = page.getByRole('dialog', { name: 'Rewind' })
  await rewind.getByText('1 file and 4 ignored ones go back').waitFor()
  expect(await rewind.getByRole('checkbox', { name: /a\.pyc/ }).count()).toBe(0)
  await rewind.getByRole('button', { name: line }).click()
  await rewind.getByRole('checkbox', { name: 'Undo __pycache__/a.pyc' }).uncheck()
  await rewind.getByText('1 file and 3 ignored ones go back').waitFor()
  expect(await violationsOn(page)).toEqual([])
  await rewind.getByRole('button', { name: 'Cancel' }).click()

  await page.getByRole('tab', { name: 'review' }).click()
  const bar = page.getByRole('toolbar', { name: 'Review' })
  await bar.getByText('1 file +1 −0').waitFor()
  await bar.getByText('4 ignored files').waitFor()
  const last = page.getByRole('region', { name: 'Changes in __pycache__/d.pyc' })
  expect(await last.count()).toBe(0)
  expect(await violationsOn(page)).toEqual([])
  const list = page.getByRole('navigation', { name: 'Changed files' })
  await list.getByRole('button', { name: line }).click()
  await list.getByRole('button', { name: /d\.pyc/ }).click()
  await last.waitFor()
  expect(await violationsOn(page)).toEqual([])
  await page.locator('.review-main').getByRole('button', { name: line, expanded: true }).click()
  await last.waitFor({ state: 'detached' })

  // Where a session ended unseen, too.
  await page.goto(house.url)
  for (const name of ['made.py', '__pycache__']) rmSync(at(name), { recursive: true })
  const { id } = await house.session({ name: 'unseen' })
  await ask(join(house.home, 'data'), 'message.send', { session: id, text: 'compile it' })
  const card = page.getByRole('listitem').filter({ has: page.getByRole('link', { name: 'unseen' }) })
  await card.getByText('made.py').waitFor()
  await card.getByText('4 ignored files').waitFor()
  for (const name of ['made.py', '__pycache__', '.gitignore']) rmSync(at(name), { recursive: true })
})

it('merges a copy, and settles what both sides changed file by file', async () => {
  const home = join(house.home, 'data')
  const { path } = await house.session()
  writeFileSync(at('both.txt'), 'start\n')
  writeFileSync(at('ours.txt'), 'start\n')
  const copy = await ask(home, 'workspaces.create', { cwd: house.workspace, name: 'attempt', method: 'copy' })
  for (const name of ['both.txt', 'ours.txt']) {
    writeFileSync(at(name), 'of the workspace\n')
    writeFileSync(join(copy.path, name), 'of the copy\n')
  }
  writeFileSync(join(copy.path, 'new.txt'), 'new\n')
  const page = await house.visit(`${path}?tab=review`)
  await page.getByRole('button', { name: 'Merge attempt' }).click()
  const dialog = page.getByRole('dialog')
  const both = dialog.getByRole('region', { name: 'Conflict in both.txt' })
  await both.getByText('of the copy').waitFor()
  expect(await violationsOn(page)).toEqual([])
  await both.getByRole('radio', { name: 'edit' }).check()
  await both.getByLabel('The text of both.txt').fill('of both\n')
  await dialog.getByRole('region', { name: 'Conflict in ours.txt' }).getByRole('radio', { name: 'ours' }).check()
  await dialog.getByRole('button', { name: 'Settle 2 of 2' }).click()
  await page.getByText('Nothing that is not here already.').waitFor()
  expect(['both.txt', 'ours.txt', 'new.txt'].map((name) => readFileSync(at(name), 'utf8'))).toEqual([
    'of both\n',
    'of the workspace\n',
    'new\n',
  ])
  await page.getByRole('button', { name: 'Remove …' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click()
  await page.getByRole('button', { name: 'Merge attempt' }).waitFor({ state: 'detached' })
  expect(existsSync(copy.path)).toBe(false)
})

it('says how much of a long file is left out, shows it, and keeps it only then', async () => {
  const { path } = await house.session()
  const page = await house.visit(path)
  await send(page, 'write at length', 'Long.')
  await page.getByRole('tab', { name: 'review' }).click()
  const card = page.getByRole('region', { name: 'Changes in long.txt' })
  const keep = card.getByRole('button', { name: 'Keep long.txt' })
  const rest = card.getByRole('button', { name: /^… \d+ more lines: show all$/ })
  // Thousands of lines take their time to be compared and drawn.
  await rest.waitFor({ timeout: 40_000 })
  expect(await card.getByText('line 9000', { exact: true }).count()).toBe(0)
  expect(await keep.isDisabled()).toBe(true)
  await rest.click()
  await card.getByText('line 9000', { exact: true }).waitFor({ timeout: 40_000 })
  await rest.waitFor({ state: 'detached' })
  await keep.click()
  await card.getByRole('button', { name: 'Keep long.txt', pressed: true }).waitFor()
}, 120_000)
