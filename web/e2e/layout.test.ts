import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { pages } from '../src/pages/pages'
import { House } from './house'
import { ask } from './line'
import { watchFigures } from './vitals'

const call = (name: string, given: Record<string, unknown>) => ({ name, arguments: given })
const LONG_FILE = `src/search/index/backends/${'a_module_with_a_name_that_says_all_of_it_'.repeat(3)}.py`
const LONG_NAME = 'Move the full-text search index to SQLite without losing one ranking '.repeat(3)
const SOLID_NAME = 'keep_the_old_index_for_a_release_'.repeat(6)
const LONG_MODEL = `scripted/${'qwen3-coder-480b-a35b-instruct-'.repeat(3)}fp8`
const LONG_BRANCH = `feature/${'keep-the-old-index-for-a-release-'.repeat(3)}1`

let house: House
let long: string
let solid: string

beforeAll(async () => {
  house = await House.open({
    conversations: [
      {
        match: 'publish',
        steps: [{ tool_calls: [call('shell', { command: 'npm publish --access public' })] }, { text: 'Done.' }],
      },
      {
        match: 'move it',
        steps: [
          { tool_calls: [call('write_file', { path: LONG_FILE, content: 'x = 1\n'.repeat(1200) })] },
          { text: 'Moved. '.repeat(30), usage: { input: 61_000, cached: 40_000, output: 4100 } },
        ],
      },
    ],
  })
  const git = (...words: string[]) => execFileSync('git', ['-C', house.workspace, ...words])
  git('init', '-q', '-b', LONG_BRANCH)
  mkdirSync(join(house.workspace, '.github'))
  writeFileSync(join(house.workspace, '.env'), 'KEY=\n')
  const data = join(house.home, 'data')
  const worked = await house.session({ name: LONG_NAME, model: LONG_MODEL })
  long = worked.path
  await ask(data, 'message.send', { session: worked.id, text: 'move it' })
  const waiting = await house.session({ name: 'publish', mode: 'edits' })
  await ask(data, 'message.send', { session: waiting.id, text: 'publish' })
  solid = (await house.session({ name: SOLID_NAME, model: LONG_MODEL })).path
  for (let at = 0; at < 2; at += 1) await house.session({ name: `another ${at}` })
  const PATIENTLY = { timeout: 60_000, interval: 100 }
  await vi.waitFor(async () => expect((await ask(data, 'asks.list', {})).asks).toHaveLength(1), PATIENTLY)
  await vi.waitFor(async () => {
    const { status = 'idle', turn_count = 0 } = await ask(data, 'session.get', { session: worked.id })
    expect([status, turn_count]).toEqual(['idle', 1])
  }, PATIENTLY)
}, 120_000)
afterAll(() => house.close())

/** As over a slow line: each message of the daemon comes some frames after the one before. */
async function slowly(page: Page): Promise<void> {
  await page.routeWebSocket(/\/ws$/, (line) => {
    const server = line.connectToServer()
    let before: Promise<unknown> = Promise.resolve()
    server.onMessage((message) => {
      before = before.then(() => new Promise((resolve) => setTimeout(resolve, 40))).then(() => line.send(message))
    })
  })
}

const shiftOn = (page: Page) =>
  page.evaluate(async () => {
    for (let frame = 0; frame < 3; frame += 1) await new Promise(requestAnimationFrame)
    return (window as unknown as { seen: { shift: number } }).seen.shift
  })

it('moves nothing that is in sight while the rest of a page comes', async () => {
  const page = await house.visit('/')
  await watchFigures(page)
  await slowly(page)
  await page.goto(house.url)
  await page.getByRole('region', { name: 'Permission needed' }).getByText('Deny, because').waitFor()
  const system = page.getByRole('region', { name: 'System' })
  await system.getByText(/ of .*B$/).waitFor()
  await system.getByText(/running, 1 needs you/).waitFor()
  await page.getByText('Moved.').first().waitFor()
  expect(await shiftOn(page)).toBeLessThan(0.05)

  await page.goto(house.url + long)
  await page.getByRole('article', { name: 'The agent said' }).waitFor()
  await page.getByRole('complementary', { name: /^Plan/ }).getByText('+1200').waitFor()
  expect(await shiftOn(page)).toBeLessThan(0.05)
})

/** Figures that are wholly or partly out of sight to a side: of the window, or of what cuts them off. */
const cutFigures = (page: Page) =>
  page.evaluate(() => {
    const all = document.querySelectorAll<HTMLElement>(
      '.churn, .card-age, .card-cost, .tool-outcome, .tool-open, .session-link-age, .spend, .row-figures',
    )
    const cut: string[] = []
    for (const one of all) {
      const { left, right, width } = one.getBoundingClientRect()
      if (width === 0) continue
      let [from, to] = [0, document.documentElement.clientWidth]
      for (let box = one.parentElement; box; box = box.parentElement) {
        if (getComputedStyle(box).overflowX === 'visible') continue
        const around = box.getBoundingClientRect()
        from = Math.max(from, around.left)
        to = Math.min(to, around.right)
      }
      if (left < from - 1 || right > to + 1) cut.push(`${one.className}: ${one.innerText}`)
    }
    return cut
  })

it('keeps figures in sight beside names of any length, at every width', async () => {
  const page = await house.visit('/')
  // All that was done is news, with what it changed.
  await page.addInitScript(() => localStorage.setItem('openagent.looked', JSON.stringify({ since: 1, at: {} })))
  const PLACES = [
    ['/', '+1200'],
    [long, 'Moved.'],
    [`${long}?tab=review`, 'hunk 1 of 1'],
    [`${long}?tab=files&file=${LONG_FILE}`, 'Files'],
    [solid, 'Say what to do'],
    ['/analytics', 'Where it went'],
    ['/audit', 'Outcome'],
  ] as const
  const wrong: string[] = []
  for (const [path, ready] of PLACES) {
    await page.goto(house.url + path)
    await page.getByText(ready).first().waitFor({ state: 'attached' })
    for (const width of [390, 820, 1440, 1920]) {
      await page.setViewportSize({ width, height: 900 })
      const wider = await page.evaluate(
        () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
      )
      if (wider > 0) wrong.push(`${path} at ${width} is ${wider} px wider than the window`)
      wrong.push(...(await cutFigures(page)).map((what) => `${path} at ${width}: ${what}`))
    }
  }
  expect(wrong).toEqual([])
})

it('fits every page into every width, with what can be done beside its heading', { timeout: 120_000 }, async () => {
  const page = await house.visit('/')
  const wrong: string[] = []
  for (const { path, label } of pages) {
    await page.goto(house.url + path)
    const heading = page.getByRole('heading', { name: label, level: 1 })
    await heading.waitFor()
    for (const width of [390, 820, 1440, 1920]) {
      await page.setViewportSize({ width, height: 900 })
      const { wider, outside } = await page.evaluate(() => {
        const all = document.querySelectorAll<HTMLElement>('.page-head, .page-head h1, .page-actions > *')
        const edge = document.documentElement.clientWidth
        return {
          wider: document.documentElement.scrollWidth - edge,
          outside: [...all].filter((one) => one.getBoundingClientRect().right > edge + 1).map((one) => one.innerText),
        }
      })
      if (wider > 0) wrong.push(`${path} at ${width} is ${wider} px wider than the window`)
      wrong.push(...outside.map((what) => `${path} at ${width}: ${what} is outside`))
      if (width <= 640) continue
      // One line from a tablet on.
      const lines = await page.evaluate(() => {
        const [title, actions] = ['.page-head h1', '.page-head > .page-actions'].map((one) =>
          document.querySelector(one)?.getBoundingClientRect(),
        )
        return title && actions ? { below: actions.top >= title.bottom, two: actions.height > 40 } : null
      })
      if (lines?.below || lines?.two) wrong.push(`${path} at ${width}: what can be done is not beside the heading`)
    }
  }
  expect(wrong).toEqual([])
})

it('leaves out of the tree what version control keeps for itself, and nothing else', async () => {
  const page = await house.visit(`${long}?tab=files`)
  const tree = page.getByRole('tree', { name: 'Files' })
  await tree.getByText('.github', { exact: true }).waitFor()
  await tree.getByText('.env', { exact: true }).waitFor()
  expect(await tree.getByText('.git', { exact: true }).count()).toBe(0)
})
