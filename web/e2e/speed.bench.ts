import { afterAll, beforeAll, it } from 'vitest'
import { House } from './house'
import { figuresOf, watchFigures } from './vitals'

const WORDS = Array.from({ length: 1200 }, (_, index) => (index % 40 === 39 ? `w${index}.\n\n` : `w${index} `)).join('')
let house: House

beforeAll(async () => {
  // 5 ms a token: 200 tokens a second.
  house = await House.open([{ text: `${WORDS}the end`, chunk_chars: 6, chunk_ms: 5 }])
})
afterAll(() => house.close())

const tell = (what: string, figure: string) => console.log(`${what}: ${figure}`)

it('opens a session of 100,000 messages', async () => {
  const { path } = await house.longSession(100_000)
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

it('loads the pages people begin with', async () => {
  const { path } = await house.longSession(2000)
  for (const [name, address] of [
    ['dashboard', '/'],
    ['session', path],
    ['analytics', '/analytics'],
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
