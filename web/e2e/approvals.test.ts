import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { violationsOn } from './axe'
import { House } from './house'
import { ask } from './line'

const call = (name: string, given: Record<string, unknown>) => ({ name, arguments: given })
const LONG = [
  'rm -rf build && echo begins',
  ...Array.from({ length: 60 }, (_, nth) => `echo line-${nth}`),
  'touch the-end',
].join('\n')
const FILE = [
  'import time',
  '',
  ...Array.from({ length: 34 }, (_, nth) => `STEP_${nth} = ${nth}`),
  'def wait(self) -> float:',
  '    now = clock()',
  '    return self.until - now',
  '',
].join('\n')

const added = (path: string, count: number) => [
  `*** Add File: ${path}`,
  ...Array.from({ length: count }, (_, nth) => `+${path} ${nth}`),
]
/** Three files; the last of them decides what git runs. */
const PATCH = [
  '*** Begin Patch',
  ...added('first.txt', 1500),
  ...added('second.txt', 700),
  ...added('.git/hooks/pre-commit', 212),
  '*** End Patch',
].join('\n')
/** More than the daemon tells of a change. */
const HUGE = Array.from({ length: 1100 }, (_, nth) => `# ${nth} ${'x'.repeat(1000)}\n`).join('')

const SCRIPT = {
  conversations: [
    {
      match: 'touch it',
      steps: [{ tool_calls: [call('shell', { command: 'touch made' })] }, { text: 'Told: {last_result}' }],
    },
    {
      match: 'change the clock',
      steps: [
        {
          tool_calls: [
            call('edit_file', { path: 'src/retry.py', old: '    now = clock()', new: '    now = self._now' }),
          ],
        },
        { text: 'Told: {last_result}' },
      ],
    },
    {
      match: 'clean up',
      steps: [{ tool_calls: [call('shell', { command: LONG })] }, { text: 'Told: {last_result}' }],
    },
    {
      match: 'patch three',
      steps: [{ tool_calls: [call('apply_patch', { patch: PATCH })] }, { text: 'Told: {last_result}' }],
    },
    {
      match: 'a huge hook',
      steps: [
        { tool_calls: [call('edit_file', { path: '.git/hooks/post-commit', old: 'x', new: 'y', all: true })] },
        { text: 'Told: {last_result}' },
      ],
    },
    ...['in a line', 'at length'].map((how) => ({
      match: `fill the screen, ask ${how}`,
      steps: [
        { text: 'A paragraph of what was found.\n\n'.repeat(60) },
        {
          text: 'Now it is made.',
          tool_calls: [call('shell', { command: how === 'at length' ? LONG : 'touch made-late' })],
        },
      ],
    })),
    { steps: [{ text: 'Nothing to do.' }], loop: true },
  ],
}

let house: House

beforeAll(async () => {
  house = await House.open(SCRIPT)
  mkdirSync(join(house.workspace, 'src'))
  writeFileSync(join(house.workspace, 'src/retry.py'), FILE)
  mkdirSync(join(house.workspace, '.git/hooks'), { recursive: true })
  writeFileSync(join(house.workspace, '.git/hooks/post-commit'), HUGE)
})
afterAll(() => house.close())

const region = (page: Page) => page.getByRole('region', { name: 'Permission needed' })
const answers = (page: Page) => page.getByRole('article', { name: 'The agent said' })
const message = (page: Page) => page.getByLabel('Message', { exact: true })

/** A session that waits, opened by somebody who was not there when it asked. */
async function waiting(text: string, options?: Parameters<House['visit']>[1]): Promise<Page> {
  const { id, path } = await house.session({ mode: 'ask', name: text })
  await ask(join(house.home, 'data'), 'message.send', { session: id, text })
  const page = await house.visit(path, options)
  await region(page).waitFor()
  return page
}

/** Keys pressed as it appears are not meant for it. */
const settle = (page: Page) => page.waitForTimeout(500)
const focused = (page: Page) => page.evaluate(() => document.activeElement?.getAttribute('aria-label'))

it('gives a waiting question the focus and its keys when the session is opened, and keeps a draft', async () => {
  const page = await waiting('touch it')
  expect(await focused(page)).toBe('Permission needed')
  await message(page).fill('a half-written draft, ')
  await settle(page)
  await page.keyboard.type('sad')
  await page.keyboard.press('Escape')
  expect(await message(page).inputValue()).toBe('a half-written draft, sad')
  expect(await region(page).count()).toBe(1)
  expect(await focused(page)).toBe('Permission needed')
  await page.keyboard.press('a')
  await answers(page).getByText('Told:').waitFor()
  expect(existsSync(join(house.workspace, 'made'))).toBe(true)
  expect(await message(page).inputValue()).toBe('a half-written draft, sad')
})

it('denies with Esc and never stops the turn with it, and shows the file, its lines and the words that change', async () => {
  const page = await waiting('change the clock')
  const question = region(page)
  await question.getByText('Edit src/retry.py?').waitFor()
  await question.getByText('+1 −1').waitFor()
  await question.getByText('lines 35–39').waitFor()
  await question.getByText(/denied in/).waitFor()
  const rows = question.locator('.diff tr:not(.diff-hunk)')
  const shown = (await rows.allInnerTexts()).map((text) => text.split(/\s+/).filter(Boolean).join(' '))
  expect(shown).toEqual([
    '35 35 STEP_32 = 32',
    '36 36 STEP_33 = 33',
    '37 37 def wait(self) -> float:',
    '38 − now = clock()',
    '38 + now = self._now',
    '39 39 return self.until - now',
  ])
  expect(await question.locator('.diff-removed .diff-lit').allInnerTexts()).toEqual(['clock()'])
  expect((await question.locator('.diff-added .diff-lit').allInnerTexts()).join('')).toBe('self._now')
  await question.locator('.diff .hljs-keyword').first().waitFor()
  expect(await violationsOn(page)).toEqual([])
  await settle(page)
  await page.keyboard.press('Escape')
  await answers(page).getByText('the user said no').waitFor()
  expect(await page.getByText('Stopped from').count()).toBe(0)
})

it('lets nobody allow what is of high risk before all of it was in sight', async () => {
  const page = await waiting('clean up')
  const question = region(page)
  await question.getByText('high risk', { exact: true }).waitFor()
  const once = question.getByRole('button', { name: /^Once/ })
  expect(await once.isDisabled()).toBe(true)
  expect(await once.getAttribute('data-variant')).toBe('default')
  expect(await question.locator('.ask-subject').innerText()).toContain('touch the-end')
  await settle(page)
  await page.keyboard.press('a')
  await page.keyboard.press('v')
  const whole = page.getByRole('dialog', { name: /Run this command/ })
  await whole.getByText('echo line-7').first().waitFor()
  expect(await violationsOn(page)).toEqual([])
  await page.keyboard.press('Escape')
  await whole.waitFor({ state: 'detached' })
  expect(await question.count()).toBe(1)
  for (let nth = 0; nth < 40 && (await once.isDisabled()); nth += 1) await page.keyboard.press('j')
  expect(await once.isDisabled()).toBe(false)

  const phone = await house.visit('/', { viewport: { width: 390, height: 844 }, hasTouch: true })
  const card = region(phone)
  await card.getByText('High risk: read it to the end').waitFor()
  const overflow = () =>
    phone.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)
  expect(await overflow()).toBe(0)
  expect(await violationsOn(phone)).toEqual([])
  const approve = card.getByRole('button', { name: /^Once/ })
  expect(await approve.isDisabled()).toBe(true)
  await card.locator('.ask-end').scrollIntoViewIfNeeded()
  await expect.poll(() => approve.isDisabled()).toBe(false)
  expect(existsSync(join(house.workspace, 'the-end'))).toBe(false)
  await approve.click()
  await answers(page).getByText('Told:').waitFor()
  expect(existsSync(join(house.workspace, 'the-end'))).toBe(true)
})

it('says what a long change leaves out, and lets nobody allow it at high risk before all of it was shown', async () => {
  const page = await waiting('patch three')
  const question = region(page)
  await question.getByText('high risk', { exact: true }).waitFor()
  const once = question.getByRole('button', { name: /^Once/ })
  const rest = question.getByRole('button', { name: '… 415 more lines in 2 files: show all' })
  await rest.scrollIntoViewIfNeeded()
  await question.getByText('second.txt 497', { exact: true }).waitFor()
  expect(await question.getByText('second.txt 498', { exact: true }).count()).toBe(0)
  expect(await question.getByText('.git/hooks/pre-commit 0', { exact: true }).count()).toBe(0)
  expect(await once.isDisabled()).toBe(true)
  await settle(page)
  await page.keyboard.press('a')
  expect(await question.count()).toBe(1)

  // All of it with the keyboard alone, and only its end opens the way.
  await rest.focus()
  await page.keyboard.press('Enter')
  await question.getByText('.git/hooks/pre-commit 211').waitFor()
  expect(await once.isDisabled()).toBe(true)
  await question.getByRole('region', { name: 'What it is about' }).focus()
  await page.keyboard.press('End')
  await expect.poll(() => once.isDisabled()).toBe(false)
  await page.keyboard.press('d')
  await answers(page).getByText('the user said no').waitFor()
})

it('shows the call itself where the change is too long to be compared', async () => {
  const page = await waiting('a huge hook')
  const question = region(page)
  const once = question.getByRole('button', { name: /^Once/ })
  await question.getByRole('button', { name: /^… \d+ more lines: show all$/ }).waitFor()
  expect(await once.isDisabled()).toBe(true)
  await settle(page)
  await page.keyboard.press('v')
  const whole = page.getByRole('dialog', { name: /post-commit/ })
  await whole.getByText('This is all of the call:').waitFor()
  await whole.getByText('"all": true').waitFor()
  await whole.locator('.ask-end').scrollIntoViewIfNeeded()
  const allow = whole.getByRole('button', { name: /^Once/ })
  await expect.poll(() => allow.isDisabled()).toBe(false)
  await page.keyboard.press('d')
  await answers(page).getByText('the user said no').waitFor()
})

it('keeps the last row wholly in sight when a question comes while the end is looked at', async () => {
  for (const [how, height] of [
    ['in a line', 900],
    ['at length', 900],
    ['at length', 680],
  ] as const) {
    const { path } = await house.session({ mode: 'ask', name: how })
    const page = await house.visit(path, { viewport: { width: 1440, height } })
    await message(page).fill(`fill the screen, ask ${how}`)
    await message(page).press('Enter')
    await answers(page).getByText('A paragraph').last().waitFor()
    await page.getByRole('button', { name: 'Stop' }).waitFor({ state: 'detached' })
    await message(page).fill('go on')
    await message(page).press('Enter')
    await region(page).waitFor()
    await page.locator('.chat-row').getByText('wants to run').waitFor()
    /** How much of it is above or below what can be seen, in pixels. */
    const hidden = () =>
      page.locator('.chat-row', { hasText: 'wants to run' }).evaluate((row) => {
        const [own, seen] = [row, row.closest('.chat')!].map((one) => one.getBoundingClientRect())
        return Math.max(seen!.top - own!.top, own!.bottom - seen!.bottom)
      })
    await expect.poll(hidden, { timeout: 30_000 }).toBeLessThanOrEqual(0)
    expect(await message(page).evaluate((input) => input.getBoundingClientRect().bottom)).toBeLessThan(height)
    if (process.env.SHOTS) await page.screenshot({ path: join(process.env.SHOTS, `late-${how}-${height}.png`) })
  }
}, 120_000)
