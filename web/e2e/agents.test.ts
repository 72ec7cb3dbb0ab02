import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { violationsOn } from './axe'
import { House } from './house'
import { ask } from './line'

const call = (name: string, given: Record<string, unknown>) => ({ name, arguments: given })
/** What lets a sub-agent's command end. */
const GO = join(tmpdir(), `openagent-agents-go-${process.pid}`)
const usage = { input: 100_000, output: 10_000 }
const SCRIPT = {
  conversations: [
    {
      match: { last_user: 'Find the cause' },
      steps: [
        { tool_calls: [call('shell', { command: `until [ -f ${GO} ]; do sleep 0.05; done` })], usage },
        { text: 'The clock is read twice.', usage },
      ],
    },
    { match: { last_user: 'Look it over' }, steps: [{ fault: '401' }], loop: true },
    {
      match: { last_user: 'hand it on' },
      steps: [
        {
          text: 'I hand it on.',
          tool_calls: [
            call('agent', {
              tasks: [
                { template: 'coder', task: 'Find the cause' },
                { template: 'reviewer', task: 'Look it over' },
              ],
            }),
          ],
          usage,
        },
        { text: 'One found it.', usage },
      ],
    },
    { steps: [{ text: 'Well said: {last_user}' }], loop: true },
  ],
}
const PRICES =
  '[jail]\nkind = "host"\n[prices."scripted/one"]\ninput = 1.0\noutput = 1.0\n[context]\nkeep_turns = 1\ngoal = 5\n'
const FLOW = `description = "Plan and build"
[inputs]
thing = "What to build"
[[step]]
name = "plan"
template = "architect"
task = "Plan {thing}"
[[step]]
name = "gate"
until = "test -f gate"
max_rounds = 1
[[step]]
name = "build"
template = "researcher"
task = "Build by: {plan}"
`

let house: House

beforeAll(async () => {
  house = await House.open(SCRIPT, PRICES)
  const at = (...path: string[]) => join(house.workspace, '.openagent', ...path)
  mkdirSync(at('flows'), { recursive: true })
  writeFileSync(at('flows', 'door.toml'), FLOW)
  writeFileSync(at('flows', 'broken.toml'), '[[step]]\nname = "x"\ntemplate = "nobody"\ntask = "y"\n')
  mkdirSync(at('skills', 'release'), { recursive: true })
  writeFileSync(
    at('skills', 'release', 'SKILL.md'),
    '---\nname: release\ndescription: When a release is cut.\n---\n# Release\n\nTag it, then push.\n',
  )
  writeFileSync(
    at('hooks.json'),
    JSON.stringify({
      hooks: {
        PreToolUse: [{ matcher: 'web_fetch', hooks: [{ type: 'command', command: 'echo not here >&2; exit 2' }] }],
      },
    }),
  )
  await house.run('trust')
})
afterAll(async () => {
  rmSync(GO, { force: true })
  await house.close()
})

const dialog = (page: Page) => page.getByRole('dialog')
const send = async (page: Page, text: string) => {
  await page.getByLabel('Message', { exact: true }).fill(text)
  await page.keyboard.press('Enter')
}

async function barsNobody(page: Page): Promise<void> {
  for (const theme of ['dark', 'light']) {
    await page.evaluate((name) => document.documentElement.setAttribute('data-mantine-color-scheme', name), theme)
    expect(await violationsOn(page)).toEqual([])
  }
  await page.evaluate(() => document.documentElement.setAttribute('data-mantine-color-scheme', 'dark'))
}

it('shows sub-agents live, one that fails with its reason, and opens one', async () => {
  const { path, id } = await house.session({ name: 'two heads' })
  const page = await house.visit(path)
  await send(page, 'hand it on')
  const agents = page.getByRole('list', { name: 'Sub-agents', exact: true })
  const finder = agents.getByRole('link').filter({ hasText: 'coder' })
  const failed = agents.getByRole('link').filter({ hasText: 'reviewer' })
  await finder.getByText('running until').waitFor()
  await finder.locator('time').waitFor()
  await failed.getByText(/Failed:/).waitFor()
  await failed.getByRole('img', { name: 'failed' }).waitFor()
  await page.getByText('1 of 2 at work').waitFor()
  await barsNobody(page)

  await page.reload() // in the middle: who works for the call is found again
  await finder.getByText('running until').waitFor()
  await failed.getByText(/Failed:/).waitFor()
  writeFileSync(GO, '')
  await finder.getByRole('img', { name: 'done' }).waitFor()
  await page.getByText('One found it.').waitFor()
  // Two answers of its own and two of the one that got somewhere, each $0.11: one figure, everywhere.
  await page.locator('.session-head').getByText('$0.44').waitFor()
  await page.locator('.side').getByText('$0.44').waitFor()

  await finder.press('Enter')
  await page.getByText('The clock is read twice.').waitFor()
  await page.getByText('works for two heads').waitFor()
  await page.keyboard.press('Escape')
  await page.keyboard.press('b')
  await page.waitForURL(`**/sessions/${id}`)
  await page.goto(`${house.url}/`)
  await page.getByRole('listitem').filter({ hasText: 'two heads' }).getByText('$0.44').waitFor()
})

it('draws a flow, runs it, goes on where it failed, and keeps its result to be read', async () => {
  await house.session({ name: 'somewhere' })
  const page = await house.visit('/flows')
  const door = page.getByRole('listitem').filter({ has: page.getByRole('heading', { name: 'door' }) })
  await door.getByText('until test -f gate').waitFor()
  await page.getByText("no template 'nobody'").waitFor()
  expect(await page.getByRole('button', { name: 'Run broken' }).isEnabled()).toBe(false)
  await barsNobody(page)

  await page.getByRole('button', { name: 'Write or check one' }).click()
  await dialog(page).getByRole('button', { name: 'Run it …' }).and(page.locator(':enabled')).waitFor()
  await dialog(page).getByRole('textbox', { name: 'The flow' }).fill('[[step]]\nname = 1')
  await dialog(page).getByText('Expected `str`').waitFor()
  await page.keyboard.press('Escape')

  await door.getByRole('button', { name: 'Run door' }).click()
  await dialog(page).getByLabel('thing').fill('a door')
  await dialog(page).getByRole('radio', { name: 'full' }).check({ force: true })
  await barsNobody(page)
  await dialog(page).getByRole('button', { name: 'Run', exact: true }).click()
  await page.waitForURL('**/sessions/*')
  const steps = page.getByRole('list', { name: 'Steps' }).getByRole('listitem')
  await page.getByRole('alert').getByText('does not pass').waitFor()
  await steps.filter({ hasText: 'plan' }).first().getByText('done').first().waitFor()
  expect(await page.getByLabel('Message', { exact: true }).count()).toBe(0)
  await barsNobody(page)

  writeFileSync(join(house.workspace, 'gate'), '')
  await page.getByRole('button', { name: 'Go on' }).click()
  await page.getByRole('region', { name: 'Result' }).getByText('Build by: Well said: Plan a door').waitFor()
  await page.reload()
  await page.getByRole('region', { name: 'Result' }).getByText('Build by: Well said: Plan a door').waitFor()
  await page.getByRole('button', { name: 'What was said in plan' }).click()
  await page.getByText('Well said: Plan a door', { exact: true }).waitFor()
  await page.keyboard.press('g')
  await page.keyboard.press('f')
  await page.getByRole('list', { name: 'Runs of flows' }).getByRole('link', { name: 'door' }).waitFor()
})

it('reads a skill, tries a hook, and lists plugins', async () => {
  const page = await house.visit('/skills')
  await page.getByRole('combobox', { name: 'Project' }).fill(house.workspace)
  await page.keyboard.press('Enter')
  await page.getByText('When a release is cut.').waitFor()
  await page.getByRole('button', { name: 'Read release' }).click()
  await dialog(page).getByText('Tag it, then push.').waitFor()
  await barsNobody(page)
  await page.keyboard.press('Escape')

  await page.getByRole('navigation', { name: 'Customise' }).getByRole('link', { name: 'Hooks' }).click()
  await page.getByRole('button', { name: /^Try the hooks of/ }).click()
  await dialog(page).getByLabel('Tool', { exact: true }).fill('web_fetch')
  await dialog(page).getByLabel('What the tool is given').fill('{"url": "http://far.test/"}')
  await dialog(page).getByRole('button', { name: 'Try', exact: true }).click()
  await dialog(page).getByText('would refuse it').waitFor()
  await dialog(page).locator('pre').getByText('not here').waitFor()
  await barsNobody(page)
  await page.keyboard.press('Escape')

  await page.getByRole('navigation', { name: 'Customise' }).getByRole('link', { name: 'Plugins' }).click()
  await page
    .getByText('No plugins yet')
    .or(page.getByText('works', { exact: true }).first())
    .first()
    .waitFor()
  await barsNobody(page)
})

it('copies a workspace, shows what was changed in the copy, and removes it', async () => {
  const page = await house.visit('/workspaces')
  await page.getByRole('button', { name: 'New copy' }).click()
  await dialog(page).getByLabel('Workspace').fill(house.workspace)
  await dialog(page).getByLabel('Name').fill('try-it')
  await barsNobody(page)
  await dialog(page).getByRole('button', { name: 'Copy', exact: true }).click()
  const row = page.getByRole('listitem').filter({ hasText: 'try-it' })
  await row.waitFor()
  const { copies } = await ask(join(house.home, 'data'), 'workspaces.list', {})
  writeFileSync(join(copies.find(({ name }) => name === 'try-it')!.path, 'new.txt'), 'from the copy\n')
  await row.getByRole('button', { name: 'Changes of try-it' }).click()
  await row.getByRole('button', { name: 'new.txt' }).click()
  await row.getByText('from the copy').waitFor()
  await barsNobody(page)
  await row.getByRole('button', { name: 'More about try-it' }).click()
  await page.getByRole('menuitem', { name: 'Remove …' }).click()
  await dialog(page).getByRole('button', { name: 'Remove' }).click()
  await row.waitFor({ state: 'detached' })
})

it('shows what fills the context, pins, compacts after a preview and brings back', async () => {
  const { path, id } = await house.session({ name: 'long talk' })
  const data = join(house.home, 'data')
  for (let turn = 0; turn < 8; turn += 1) {
    await ask(data, 'message.send', { session: id, text: `${turn} ${'lorem ipsum dolor '.repeat(400)}` })
    await expect
      .poll(async () => {
        const { turn_count, status = 'idle' } = await ask(data, 'session.get', { session: id })
        return [turn_count, status]
      })
      .toEqual([turn + 1, 'idle'])
  }
  const page = await house.visit(path)
  await page.getByRole('button', { name: /ctx/ }).click()
  const messages = dialog(page).getByRole('list', { name: 'Messages in the context' }).getByRole('listitem')
  await messages.first().waitFor()
  await dialog(page).getByRole('button', { name: 'Pin message 3', exact: true }).click()
  await dialog(page).getByRole('button', { name: 'Pin message 3', pressed: true }).waitFor()
  await barsNobody(page)
  await dialog(page).getByRole('button', { name: 'Compact …' }).click()
  const preview = dialog(page).getByRole('region', { name: 'Preview' })
  await preview.getByText('This would go').waitFor()
  await barsNobody(page)
  await preview.getByRole('button', { name: 'Compact', exact: true }).click()
  const shrunk = dialog(page).getByRole('list', { name: 'What was shrunk' })
  await shrunk.getByRole('button', { name: 'Bring back' }).click()
  await shrunk.getByText('brought back').waitFor()
  expect((await ask(data, 'context.show', { session: id })).messages?.some(({ pinned }) => pinned)).toBe(true)
})

it('changes how a live session works, and goes on elsewhere', async () => {
  const { path, id } = await house.session({ name: 'settled', mode: 'ask' })
  const data = join(house.home, 'data')
  const other = join(house.home, 'other')
  mkdirSync(other)
  const page = await house.visit(path)
  await page.getByRole('button', { name: 'More', exact: true }).click()
  await page.getByRole('menuitem', { name: /^Settings/ }).click()
  await dialog(page).getByRole('combobox', { name: 'Persona' }).click()
  await page.getByRole('option', { name: 'reviewer' }).click()
  await dialog(page).getByLabel('Budget in dollars').fill('2.5')
  await dialog(page).getByLabel('Temperature').fill('0.2')
  await barsNobody(page)
  await dialog(page).getByRole('button', { name: 'Save' }).click()
  await dialog(page).waitFor({ state: 'detached' })
  const { settings } = await ask(data, 'session.get', { session: id })
  expect(settings).toMatchObject({ mode: 'plan', budget_usd: 2.5, temperature: 0.2 })
  expect(settings?.instructions).toContain('review')
  await page.locator('.session-head').getByText('/$2.50').waitFor()

  await page.keyboard.press('Escape')
  await page.keyboard.press(',')
  await dialog(page).getByRole('button', { name: 'Go on elsewhere …' }).click()
  await dialog(page).getByLabel('Directory').fill(other)
  await dialog(page).getByRole('button', { name: 'Go on there' }).click()
  await page.waitForURL((address) => address.pathname.startsWith('/sessions/') && !address.pathname.includes(id))
  const moved = page.url().split('/').pop()!
  expect(await ask(data, 'session.get', { session: moved })).toMatchObject({ cwd: other, forked_from: id })
  expect((await ask(data, 'session.get', { session: id })).cwd).toBe(house.workspace)
})
