import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { cpus, loadavg } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { House } from './house'
import { ask } from './line'
import { figuresOf, watchFigures } from './vitals'

const WORDS = Array.from({ length: 1200 }, (_, index) => (index % 40 === 39 ? `w${index}.\n\n` : `w${index} `)).join('')
let house: House
let long: string

beforeAll(async () => {
  house = await House.open({
    conversations: [
      { match: 'publish', steps: [{ tool_calls: [{ name: 'shell', arguments: { command: 'npm publish' } }] }] },
      { match: 'short', steps: [{ text: 'Two lines of what was done. '.repeat(6) }], loop: true },
      // 5 ms a token: 200 tokens a second.
      { steps: [{ text: `${WORDS}the end`, chunk_chars: 6, chunk_ms: 5 }], loop: true },
    ],
  })
})
afterAll(async () => {
  await house.close()
  keep()
})

const told: [string, string][] = []
const tell = (what: string, figure: string) => {
  told.push([what, figure])
  console.log(`${what}: ${figure}`)
}

const REPOSITORY = resolve(import.meta.dirname, '../..')
const BUSY_FROM = 1.5

/** Beside the other benchmarks' results, with the load that the figures were measured under. */
function keep(): void {
  const commit = execFileSync('git', ['rev-parse', '--short', 'HEAD'], { cwd: REPOSITORY, encoding: 'utf8' }).trim()
  const [load = 0] = loadavg()
  const lines = [
    '# Benchmarks of the web interface',
    '',
    `Commit ${commit}, ${new Date().toISOString()}, ${cpus().length} CPUs, load ${load.toFixed(1)}, by \`scripts/web.sh bench\`.`,
    ...(load >= BUSY_FROM
      ? ['', '**The machine is busy: times are worse than they would be. Run it again when nothing else does.**']
      : []),
    '',
    '| what | measured |',
    '|---|---|',
    ...told.map(([what, figure]) => `| ${what} | ${figure} |`),
  ]
  writeFileSync(join(REPOSITORY, 'benchmarks/results/web.md'), `${lines.join('\n')}\n`)
}

it('opens a session of 100,000 messages', async () => {
  const { path } = await house.longSession(100_000)
  long = path
  const page = await house.visit('/')
  await page.getByRole('heading', { name: 'Sessions' }).waitFor()
  await page.getByText('a long one').waitFor()
  const began = Date.now()
  await page.getByText('a long one').click()
  await page.getByText('Question 10000:').waitFor()
  tell('100,000 messages, from the dashboard to the last message', `${Date.now() - began} ms`)
  const again = Date.now()
  await page.goto(house.url + path)
  await page.getByText('Question 10000:').waitFor()
  tell('100,000 messages, as a page loaded from nothing', `${Date.now() - again} ms`)
  const frames = await page.evaluate(async () => {
    const box = document.querySelector('.chat-scroll')!
    const gaps: number[] = []
    let before = performance.now()
    for (let step = 0; step < 180; step += 1) {
      box.scrollTop -= 120
      await new Promise(requestAnimationFrame)
      const now = performance.now()
      gaps.push(now - before)
      before = now
    }
    return gaps.sort((one, other) => one - other)
  })
  tell('scrolling back, frame time', `median ${frames[90]!.toFixed(0)} ms, p95 ${frames[171]!.toFixed(0)} ms`)
})

it('streams 200 tokens a second', async () => {
  const { path } = await house.session()
  const page = await house.visit(path)
  await page.getByLabel('Message', { exact: true }).fill('go')
  await page.evaluate(() => {
    const tasks: number[] = []
    ;(window as unknown as { tasks: number[] }).tasks = tasks
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) tasks.push(entry.duration)
    }).observe({ type: 'longtask' })
  })
  const began = Date.now()
  await page.keyboard.press('Enter')
  await page.getByText('the end').waitFor({ timeout: 120_000 })
  const seconds = (Date.now() - began) / 1000
  const tasks = await page.evaluate(() => (window as unknown as { tasks: number[] }).tasks)
  const longest = Math.max(0, ...tasks).toFixed(0)
  tell(
    'streaming',
    `${seconds.toFixed(1)} s, ${tasks.length} long tasks (${(tasks.length / seconds).toFixed(2)} a second, longest ${longest} ms)`,
  )
})

/** What issue and docs promise: gzipped kilobytes, milliseconds, a share of the screen, milliseconds. */
const BOUNDS = { script: 300, lcp: 1500, shift: 0.05, task: 200 }

/** A dashboard as people have it: a question that waits, and a dozen sessions that said something. */
async function live(): Promise<void> {
  const data = join(house.home, 'data')
  const waiting = await house.session({ name: 'publish', mode: 'edits' })
  await ask(data, 'message.send', { session: waiting.id, text: 'publish' })
  for (let at = 0; at < 12; at += 1) {
    const { id } = await house.session({ name: `session ${at}` })
    await ask(data, 'message.send', { session: id, text: 'short' })
  }
  await expect.poll(async () => (await ask(data, 'asks.list', {})).asks.length, { timeout: 60_000 }).toBe(1)
}

it('loads the pages people begin with', async () => {
  await live()
  for (const [name, address] of [
    ['dashboard', '/'],
    ['session', long],
    ['analytics', '/analytics'],
    ['tasks', '/tasks'],
    ['settings', '/settings'],
  ] as const) {
    const page = await house.visit('/')
    await watchFigures(page)
    await page.goto(house.url + address)
    const { script, lcp, shift, task } = await figuresOf(page)
    tell(
      name,
      [
        `first load ${script.toFixed(0)} of ${BOUNDS.script} kB`,
        `LCP ${lcp.toFixed(0)} of ${BOUNDS.lcp} ms`,
        `CLS ${shift.toFixed(3)} of ${BOUNDS.shift}`,
        `longest task ${task.toFixed(0)} of ${BOUNDS.task} ms`,
      ].join(', '),
    )
  }
})
