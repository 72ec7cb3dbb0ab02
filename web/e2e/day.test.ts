import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import type { Mode } from '../src/lib/modes'
import { House, photograph, type Script } from './house'
import { Hands, has, hasFocus } from './keyboard'
import { ask } from './line'

// One working day in one tab, by keys alone, chapter after chapter: each goes on where the one before ended.

const call = (name: string, given: Record<string, unknown>) => ({ name, arguments: given })
/** With the prices below, each answer costs eleven cents. */
const usage = { input: 100_000, output: 10_000 }
const PRICES = '[prices."scripted/one"]\ninput = 1.0\noutput = 1.0\n'
const shell = (command: string) => ({ tool_calls: [call('shell', { command })], usage })
const says = (text: string) => ({ text, usage })
const put = (line: number, text: string) => shell(`sed -i '${line}s/.*/${text}/' shared.md`)
const asks = { tool_calls: [call('ask_user', { question: 'Which colour?', choices: ['red', 'blue'] })], usage }
/** Says a word at a time, then nothing more. What was said is kept while it goes on: the first words are when the last come. */
const WORDS = Array.from({ length: 80 }, (_, index) => `word${index} `).join('')
const STALLS = { text: WORDS, chunk_chars: 7, chunk_ms: 60, fault: { name: 'stall', after: 60 } }
const SCRIPT: Script = {
  conversations: [
    { match: { last_user: 'Count for long' }, steps: [STALLS], loop: true },
    {
      match: 'Change the values',
      steps: [
        shell(
          "sed -i -e 's/^value_3 = 3$/value_3 = 33/' -e 's/^value_30 = 30$/value_30 = 0/' app.py; echo '# Notes' > notes.md",
        ),
        says('The values are changed.'),
        says('Understood, a better name.'),
      ],
    },
    {
      match: 'Good morning, Birch',
      steps: [
        says('Good morning.'),
        shell('mkdir made'),
        says('Told: {last_result}'),
        shell('rm app.py'),
        says('Told: {last_result}'),
        put(3, 'of Birch'),
        says('Birch has written.'),
      ],
    },
    {
      match: 'Hand it on',
      steps: [
        {
          text: 'I hand it on.',
          tool_calls: [
            call('agent', {
              tasks: [
                { template: 'researcher', task: 'Find the cause.' },
                { template: 'reviewer', task: 'Look it over.' },
              ],
            }),
          ],
          usage,
        },
        says('Both were here.'),
      ],
    },
    { match: 'Find the cause.', steps: [says('The clock is read twice.')] },
    { match: 'Look it over.', steps: [says('It looks sound.')] },
    { match: { last_user: 'a draft of Dogwood' }, steps: [says('Well said: {last_user}')], loop: true },
    {
      match: 'Good morning, Dogwood',
      steps: [says('Good morning.'), put(15, 'of Dogwood'), says('Dogwood has written.')],
    },
    { match: 'Good morning, Elm', steps: [says('Good morning.'), asks, says('You chose {last_result}.')] },
    { steps: [says('Well said: {last_user}')], loop: true },
  ],
}
const LOOK = `description = "Looks"
[inputs]
thing = "What to look at"
[[step]]
name = "look"
template = "researcher"
task = "Look at {thing}"
`
const PLAN = `description = "Plans and builds"
[inputs]
thing = "What to build"
[[step]]
name = "plan"
template = "architect"
task = "Plan {thing}"
[[step]]
name = "build"
template = "researcher"
task = "Build by: {plan}"
`
const VALUES = Array.from({ length: 40 }, (_, index) => `value_${index + 1} = ${index + 1}`)
const SHARED = Array.from({ length: 30 }, (_, index) => `line ${index + 1}`)

/** Who works on what, in the order they are started. */
const MORNING: [name: string, message: string, mode: Mode][] = [
  ['Alder', 'Change the values', 'full'],
  ['Birch', 'Good morning, Birch', 'ask'],
  ['Cedar', 'Hand it on', 'full'],
  ['Dogwood', 'Good morning, Dogwood', 'full'],
  ['Elm', 'Good morning, Elm', 'full'],
  ['Fir', 'Good morning, Fir', 'full'],
]

let house: House
let aside: string
let page: Page
let hands: Hands
const ids = new Map<string, string>()

/** What no page may say. While the daemon is away on purpose, what cannot be reached is no news. */
const problems: string[] = []
let away = false

function listen(to: Page): void {
  const tell = (problem: string) => {
    if (!away) problems.push(problem)
  }
  to.on('pageerror', ({ message }) => problems.push(message))
  to.on('console', (said) => {
    if (said.type() === 'error') tell(said.text())
  })
  to.on('requestfailed', (request) => tell(`${request.url()}: ${request.failure()?.errorText}`))
  to.on('response', (answer) => {
    if (answer.status() >= 400) tell(`${answer.url()}: ${answer.status()}`)
  })
}

const at = (...names: string[]) => join(house.workspace, ...names)
const git = (...words: string[]) =>
  execFileSync('git', ['-C', house.workspace, ...words], {
    encoding: 'utf8',
    env: { ...process.env, HOME: house.home },
  }).trim()

beforeAll(async () => {
  aside = mkdtempSync(join(tmpdir(), 'openagent-day-'))
  writeFileSync(
    join(aside, 'gh'),
    `#!/bin/sh\nprintf '%s|' "$@" > ${aside}/asked\necho https://forge.test/team/project/pull/7\n`,
  )
  chmodSync(join(aside, 'gh'), 0o755)
  house = await House.open(SCRIPT, PRICES, { env: { PATH: `${aside}:${process.env.PATH}` } })
  writeFileSync(join(house.home, '.gitconfig'), '[user]\n\tname = Ada\n\temail = ada@example.org\n')
  execFileSync('git', ['init', '-q', '--bare', '-b', 'main', join(aside, 'far.git')])
  git('init', '-q', '-b', 'main')
  writeFileSync(at('app.py'), `${VALUES.join('\n')}\n`)
  writeFileSync(at('shared.md'), `${SHARED.join('\n')}\n`)
  mkdirSync(at('.openagent/flows'), { recursive: true })
  writeFileSync(at('.openagent/flows/look.toml'), LOOK)
  writeFileSync(at('.openagent/flows/plan.toml'), PLAN)
  git('add', '-A')
  git('commit', '-qm', 'first')
  git('remote', 'add', 'origin', join(aside, 'far.git'))
  git('push', '-q', 'origin', 'main')
  await house.run('trust')
  page = await house.stay('/', listen)
  hands = new Hands(page)
})
afterEach(async ({ task }) => {
  if (task.result?.state === 'fail') await photograph(page, task.name)
})
afterAll(async () => {
  await house.close()
  rmSync(aside, { recursive: true, force: true })
})

const dialog = () => page.getByRole('dialog')
const input = () => page.getByLabel('Message', { exact: true })
const answers = () => page.getByRole('article', { name: 'The agent said' })
const said = () => page.getByRole('article', { name: 'You said' })
const question = () => page.getByRole('region', { name: 'Permission needed' })
const atRest = () => page.getByRole('button', { name: 'Stop' }).waitFor({ state: 'detached' })

async function open(name: string): Promise<void> {
  await hands.palette(name)
  await page.getByRole('heading', { name, exact: true, level: 1 }).waitFor()
}

/** Into the field for messages, wherever the focus is. */
async function write(text: string): Promise<void> {
  if (!(await hasFocus(input()))) await hands.press('m')
  await has(input(), 'the focus', () => hasFocus(input()))
  await hands.type(text)
}

async function say(text: string): Promise<void> {
  await write(text)
  await hands.press('Enter')
}

/** Out of the field, to where keys are commands. Only at rest: Esc stops a turn. */
async function leaveField(): Promise<void> {
  await atRest()
  if (await hasFocus(input())) await hands.press('Escape')
}

async function toDashboard(): Promise<void> {
  await leaveField()
  const heading = page.getByRole('heading', { name: 'Sessions', exact: true, level: 1 })
  // Two keys count as one only when they come close together.
  await has(heading, 'come', async () => {
    await hands.press('g', 's')
    return (await heading.count()) > 0
  })
}

async function start(name: string, message: string, mode: Mode): Promise<void> {
  await hands.palette('New session')
  const folder = dialog().getByRole('textbox', { name: 'Directory' })
  await has(folder, 'the focus', () => hasFocus(folder))
  await hands.write(house.workspace)
  await hands.tabTo(dialog().getByLabel('First message'))
  await hands.type(message)
  const modes = dialog().getByRole('group', { name: 'Mode' })
  await hands.choose(modes.getByRole('radio', { name: mode, exact: true }), modes)
  await hands.tabTo(dialog().getByLabel('Name', { exact: true }))
  await hands.type(name)
  await hands.press('Enter')
  await page.getByRole('heading', { name, exact: true, level: 1 }).waitFor()
  ids.set(name, page.url().split('/').pop()!)
}

it('begins with six sessions in one project', { timeout: 120_000 }, async () => {
  for (const [name, message, mode] of MORNING) {
    await start(name, message, mode)
    await said().getByText(message).waitFor()
    await has(input(), 'the focus', () => hasFocus(input()))
  }
  await answers().getByText('Well said: Good morning, Fir').waitFor()
  await toDashboard()
  for (const [name] of MORNING) await page.getByRole('link', { name, exact: true }).first().waitFor()
})

it('runs two flows', { timeout: 120_000 }, async () => {
  for (const [flow, thing, result] of [
    ['look', 'the sky', 'Well said: Look at the sky'],
    ['plan', 'a door', 'Well said: Build by: Well said: Plan a door'],
  ] as const) {
    await hands.palette('Flows')
    await hands.pressOn(page.getByRole('button', { name: `Run ${flow}` }))
    const field = dialog().getByLabel('thing')
    await has(field, 'the focus', () => hasFocus(field))
    await hands.type(thing)
    await hands.pressOn(dialog().getByRole('button', { name: 'Run', exact: true }))
    await page.getByRole('region', { name: 'Result' }).getByText(result).waitFor()
  }
})

it('looks at what sub-agents said, and comes back', async () => {
  await open('Cedar')
  await answers().getByText('Both were here.').waitFor()
  await leaveField()
  await hands.press('i')
  await page.getByText('works for Cedar').waitFor()
  await answers()
    .getByText(/It looks sound\.|The clock is read twice\./)
    .waitFor()
  await leaveField()
  await hands.press('b')
  await page.getByRole('heading', { name: 'Cedar', exact: true, level: 1 }).waitFor()
  await page.locator('.session-head').getByText('$0.44').waitFor()
})

it('allows one call and denies another by a key', async () => {
  await open('Birch')
  await say('Make a folder')
  await hands.answer(question().filter({ hasText: 'mkdir made' }), 'a')
  await answers().getByText('Told:').waitFor()
  expect(existsSync(at('made'))).toBe(true)
  await atRest()
  await say('Remove the app')
  await hands.answer(question().filter({ hasText: 'rm app.py' }), 'd')
  await answers().getByText('the user said no').waitFor()
  expect(existsSync(at('app.py'))).toBe(true)
})

it('keeps one hunk, takes another back, comments, commits, pushes and opens a pull request', {
  timeout: 120_000,
}, async () => {
  await open('Alder')
  await answers().getByText('The values are changed.').waitFor()
  await leaveField()
  await hands.press('4')
  const card = page.getByRole('region', { name: 'Changes in app.py' })
  const hunk = (number: number) => card.getByRole('row', { name: `Hunk ${number} of app.py` })
  await card.getByText('value_30 = 0').waitFor()
  await hands.press('J')
  await has(hunk(1), 'the focus', () => hasFocus(hunk(1)))
  await hands.press('y')
  await card.getByRole('button', { name: 'Keep hunk 1 of app.py', pressed: true }).waitFor()
  await hands.press('J')
  await has(hunk(2), 'the focus', () => hasFocus(hunk(2)))
  await hands.press('r')
  await hunk(2).waitFor({ state: 'detached' })
  expect(readFileSync(at('app.py'), 'utf8')).toContain('value_3 = 33\n')
  expect(readFileSync(at('app.py'), 'utf8')).toContain('value_30 = 30\n')

  await hands.press('K')
  await has(hunk(1), 'the focus', () => hasFocus(hunk(1)))
  await hands.press('c')
  const comment = page.getByLabel('Comment to the agent')
  await has(comment, 'the focus', () => hasFocus(comment))
  await hands.type('Name it better.')
  await hands.press('Control+Enter')
  await page.getByText('Sent to the agent').waitFor()
  await has(card, 'the focus in it', () => card.evaluate((box) => box.contains(document.activeElement)))

  await page.getByRole('button', { name: 'Commit …' }).and(page.locator(':enabled')).waitFor()
  await hands.press('C')
  const commit = page.getByRole('dialog', { name: 'Commit' })
  const message = commit.getByLabel('Message')
  await has(message, 'the focus', () => hasFocus(message))
  await hands.write('Change the values')
  await hands.tabTo(commit.getByLabel('New branch'))
  await hands.type('fix/values')
  await hands.press('Enter')
  await page.getByText('2 files on fix/values: Change the values').waitFor()
  await commit.waitFor({ state: 'detached' })
  expect(git('show', '--name-only', '--format=%an').split('\n').filter(Boolean)).toEqual(['Ada', 'app.py', 'notes.md'])

  await page.getByRole('button', { name: 'Push 1' }).waitFor()
  await hands.press('P')
  await page.getByText('fix/values is on origin.').waitFor()
  expect(git('ls-remote', 'origin', 'refs/heads/fix/values')).toContain(git('rev-parse', 'HEAD'))

  await hands.press('O')
  const request = page.getByRole('dialog', { name: 'Open a pull request' })
  await has(request, 'the focus in it', () => request.evaluate((box) => box.contains(document.activeElement)))
  await hands.tabTo(request.getByLabel('Title'))
  await hands.write('Change the values')
  await hands.tabTo(request.getByLabel('Description'))
  await hands.type('Why it is so.')
  await hands.pressOn(request.getByRole('button', { name: 'Push and open' }))
  await request.getByRole('link', { name: 'https://forge.test/team/project/pull/7' }).waitFor()
  expect(readFileSync(join(aside, 'asked'), 'utf8')).toBe(
    'pr|create|--title|Change the values|--body|Why it is so.|--head|fix/values|--base|main|',
  )
  await hands.pressOn(request.getByRole('button', { name: 'Done' }))
  await request.waitFor({ state: 'detached' })
})

it('undoes its own beside another session and a person', async () => {
  await open('Birch')
  await say('Put a line of Birch')
  await hands.answer(question().filter({ hasText: 'of Birch' }), 'a')
  await answers().getByText('Birch has written.').waitFor()
  await open('Dogwood')
  await say('Put a line of Dogwood')
  await answers().getByText('Dogwood has written.').waitFor()
  const lines = [...SHARED]
  lines[2] = 'of Birch'
  lines[14] = 'of Dogwood'
  expect(readFileSync(at('shared.md'), 'utf8')).toBe(`${lines.join('\n')}\n`)
  lines[26] = 'by hand'
  writeFileSync(at('shared.md'), `${lines.join('\n')}\n`)
  writeFileSync(at('mine.txt'), 'mine\n')

  await open('Birch')
  await leaveField()
  await hands.press('u')
  const rewind = page.getByRole('dialog', { name: 'Rewind' })
  await rewind.getByText('1 file goes back').waitFor()
  await hands.pressOn(rewind.getByRole('button', { name: 'Rewind' }))
  await page.getByText(/Undid the changes to files since turn \d/).waitFor()
  await rewind.waitFor({ state: 'detached' })
  lines[2] = 'line 3'
  expect(readFileSync(at('shared.md'), 'utf8')).toBe(`${lines.join('\n')}\n`)
  expect(readFileSync(at('mine.txt'), 'utf8')).toBe('mine\n')
  expect(existsSync(at('made'))).toBe(true)
})

const GONE = 'The daemon cannot be reached'

/** Nobody presses anything: the app finds it again by itself. */
async function killed(): Promise<void> {
  away = true
  await house.stopDaemon('SIGKILL')
  await page.getByText(GONE).waitFor()
  await house.startDaemon()
  await page.getByText(GONE).waitFor({ state: 'detached' })
  away = false
}

it('loses nothing when the daemon is killed in the middle of an answer', async () => {
  await open('Dogwood')
  await say('Count for long')
  await answers().getByText('word55').waitFor()
  await write('a draft of Dogwood')
  await killed()
  await page.getByText('Interrupted: the daemon stopped in the middle of it.').waitFor()
  await answers().getByText('word1 ').waitFor()
  expect(await input().inputValue()).toBe('a draft of Dogwood')
  await atRest()
  await say('')
  await answers().getByText('Well said: a draft of Dogwood').waitFor()
})

it('loses nothing when the daemon is killed while a question stands', async () => {
  await open('Elm')
  await say('Ask me')
  const card = page.getByRole('region', { name: 'The agent asks' })
  await card.getByText('Which colour?').waitFor()
  await write('a draft of Elm')
  await killed()
  await card.getByText('Which colour?').waitFor()
  expect(await input().inputValue()).toBe('a draft of Elm')
  await hands.pressOn(card.getByRole('button', { name: /^blue/ }))
  await answers().getByText('You chose blue.').waitFor()
})

it('loses nothing when the daemon is killed while messages wait', async () => {
  await open('Fir')
  await say('Count for long')
  await answers().getByText('word1 ').waitFor()
  const waiting = page.getByRole('list', { name: 'Waiting messages' })
  for (const text of ['the first that waits', 'the second that waits']) {
    await say(text)
    await waiting.getByText(text).waitFor()
  }
  await write('a draft of Fir')
  await killed()
  await answers().getByText('Well said: the second that waits').waitFor()
  await waiting.waitFor({ state: 'detached' })
  for (const text of ['the first that waits', 'the second that waits']) {
    expect(await said().getByText(text).count()).toBe(1)
    expect(await answers().getByText(`Well said: ${text}`).count()).toBe(1)
  }
  expect(await input().inputValue()).toBe('a draft of Fir')
})

it('takes a new version under the open tab, with what is being written', async () => {
  away = true
  await house.stopDaemon()
  house.upgrade()
  await house.startDaemon()
  await page.getByText('OpenAgent was updated').waitFor()
  expect(await input().inputValue()).toBe('a draft of Fir')
  await hands.palette('Tasks')
  await page.waitForFunction(() => [...document.scripts].some(({ src }) => src.includes('-next')))
  await page.getByRole('heading', { name: 'Tasks', exact: true }).first().waitFor()
  expect(await page.getByText('OpenAgent was updated').count()).toBe(0)
  away = false
  await open('Fir')
  await answers().getByText('Well said: the second that waits').waitFor()
  expect(await input().inputValue()).toBe('a draft of Fir')
})

it('tells in the evening what happened, in the same figures everywhere', { timeout: 120_000 }, async () => {
  for (const [name, ...told] of [
    ['Alder', 'The values are changed.', 'Understood, a better name.'],
    ['Birch', 'the user said no', 'Birch has written.'],
    ['Cedar', 'Both were here.'],
    ['Dogwood', 'Dogwood has written.', 'Well said: a draft of Dogwood'],
    ['Elm', 'You chose blue.'],
    ['Fir', 'Well said: the second that waits'],
  ] as const) {
    await open(name)
    for (const text of told) await answers().getByText(text).first().waitFor()
  }
  const spent = await costs()
  for (const [name] of MORNING) {
    await open(name)
    await page
      .locator('.session-head .spend')
      .filter({ hasText: spent.get(name)! })
      .waitFor()
  }
  await toDashboard()
  for (const [name] of MORNING) {
    const card = page.getByRole('listitem').filter({ has: page.getByRole('link', { name, exact: true }) })
    await card
      .locator('.card-cost')
      .filter({ hasText: spent.get(name)! })
      .waitFor()
  }
  expect(readFileSync(at('app.py'), 'utf8')).toContain('value_3 = 33\n')
  expect(problems).toEqual([])
})

/** What each of the six cost by the command line, with all that worked for it. */
async function costs(): Promise<Map<string, string>> {
  const report = JSON.parse(await house.run('usage', '--by', 'session', '--json')) as {
    rows: { key: string; cost_usd: number }[]
  }
  const { sessions } = await ask(join(house.home, 'data'), 'session.list', {})
  const cost = (of: string) => report.rows.find(({ key }) => key === of)?.cost_usd ?? 0
  return new Map(
    [...ids].map(([name, id]) => {
      const below = sessions.filter(({ parent }) => parent === id).map((one) => cost(one.id))
      return [name, `$${below.reduce((sum, one) => sum + one, cost(id)).toFixed(2)}`]
    }),
  )
}
