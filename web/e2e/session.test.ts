import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { violationsOn } from './axe'
import { House } from './house'

const WORDS = Array.from({ length: 60 }, (_, index) => `word${index}`).join(' ')
const call = (name: string, given: Record<string, unknown>) => ({ name, arguments: given })

const SCRIPT = {
  conversations: [
    { match: 'say hello', steps: [{ thinking: 'They want a greeting.', text: 'Hello **there**!' }] },
    {
      match: 'touch it',
      steps: [
        { text: 'I make a file.', tool_calls: [call('shell', { command: 'touch made && echo was-made' })] },
        { text: 'The tool said: {last_result}' },
      ],
    },
    {
      match: 'make tests',
      steps: [{ tool_calls: [call('shell', { command: 'make test -k' })] }, { text: 'The tool said: {last_result}' }],
    },
    {
      match: 'take long',
      steps: [
        { tool_calls: [call('shell', { command: 'until test -e go-on; do sleep 0.1; done' })] },
        { text: 'The tool said: {last_result}' },
      ],
    },
    {
      match: 'reach it',
      steps: [
        { tool_calls: [call('shell', { command: 'curl -sS http://far.test/' })] },
        { text: 'The tool said: {last_result}' },
      ],
    },
    {
      match: 'change it',
      steps: [
        { tool_calls: [call('edit_file', { path: 'greeting.txt', old: 'hello', new: 'good day' })] },
        { text: 'Changed.' },
      ],
    },
    { match: 'count slowly', steps: [{ text: WORDS, chunk_chars: 6, chunk_ms: 40 }, { text: 'Went on.' }] },
    {
      match: 'hang on',
      steps: [
        { text: 'Half of the answer and the other half.', chunk_chars: 8, fault: { name: 'stall', after: 2 } },
        { text: 'Told: {last_user}' },
      ],
    },
    { match: { last_user: 'fail at it' }, steps: [{ text: '', fault: '401' }], loop: true },
    {
      match: 'be refused',
      steps: [
        { tool_calls: [call('write_file', { path: 'no.txt', content: 'x' }), call('shell', { command: 'sleep 60' })] },
      ],
    },
    {
      match: 'ask me',
      steps: [
        { tool_calls: [call('ask_user', { question: 'Which colour?', choices: ['red', 'blue'] })] },
        { text: 'You chose {last_result}.' },
      ],
    },
    { match: 'in Rust', steps: [{ text: '```rust\nfn main() {}\n```\n\n```nonesuch\nfn main() {}\n```' }] },
    { match: 'evil', steps: [{ text: readFileSync(join(import.meta.dirname, 'hostile.md'), 'utf8') }] },
    { steps: [{ text: 'From {model}: {last_user}' }], loop: true },
  ],
}

let house: House

beforeAll(async () => {
  house = await House.open(SCRIPT)
})
afterAll(() => house.close())

const send = async (page: Page, text: string) => {
  await page.getByLabel('Message', { exact: true }).fill(text)
  await page.keyboard.press('Enter')
}
const answers = (page: Page) => page.getByRole('article', { name: 'The agent said' })

it('creates a session with the form and shows the answer, its thinking on request', async () => {
  const page = await house.visit('/')
  await page.getByRole('button', { name: 'Start the first session' }).click()
  await page.getByRole('textbox', { name: 'Directory' }).fill(house.workspace)
  await page.getByLabel('First message').fill('say hello')
  await page.getByRole('button', { name: 'Start', exact: true }).click()
  await answers(page).getByText('Hello there!').waitFor()
  expect(await answers(page).locator('strong').textContent()).toBe('there')
  await page.getByRole('button', { name: /thought/ }).click()
  await page.getByText('They want a greeting.').waitFor()
})

it('approves with a key, and the call runs', async () => {
  const { path } = await house.session({ mode: 'ask' })
  const page = await house.visit(path)
  await send(page, 'touch it')
  const ask = page.getByRole('region', { name: 'Permission needed' })
  await ask.getByText('touch made && echo was-made').waitFor()
  expect(existsSync(join(house.workspace, 'made'))).toBe(false)
  await page.waitForTimeout(500) // keys pressed as it appears are not meant for it
  await page.keyboard.press('a')
  await answers(page).getByText('The tool said: was-made').waitFor()
  expect(existsSync(join(house.workspace, 'made'))).toBe(true)
  expect(await ask.count()).toBe(0)
})

it('says what each answer would cover, and lists and revokes what was granted', async () => {
  const { path } = await house.session({ mode: 'ask' })
  const page = await house.visit(path)
  await send(page, 'make tests')
  const ask = page.getByRole('region', { name: 'Permission needed' })
  const ways = ask.getByRole('list', { name: 'Ways to allow it' }).getByRole('listitem')
  await ways.first().waitFor()
  const told = (await ways.allTextContents()).map((text) => text.replace(/\s+/g, ' '))
  expect(told).toEqual([
    'OnceaOnly this, this one time.',
    'This sessionsmake test with any arguments, unless they change what it does, for the rest of this session.',
    'AlwaysAmake test with any arguments, unless they change what it does, always in this workspace.',
    'This sessionExactly make test -k, for the rest of this session.',
    'AlwaysExactly make test -k, always in this workspace.',
  ])
  expect(await violationsOn(page)).toEqual([])
  await ways.nth(1).getByRole('button').click()
  await answers(page).getByText('The tool said').waitFor()
  await page.goto(`${house.url}/grants`)
  const grant = page.getByRole('list', { name: 'For a session' }).getByRole('listitem')
  await grant.getByText('with any arguments, unless they change what it does.').waitFor()
  expect(await violationsOn(page)).toEqual([])
  await grant.getByRole('button', { name: /^Revoke/ }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click()
  await page.getByText('Nothing was granted').waitFor()
})

it('says who wants to reach a host and that the command runs', async () => {
  const { path } = await house.session({ mode: 'auto' })
  const page = await house.visit(path)
  await send(page, 'reach it')
  const ask = page.getByRole('region', { name: 'Permission needed' })
  await ask.getByText('Connect to far.test:80?').waitFor()
  await ask.getByText('The command wants to connect to far.test:80.').waitFor()
  expect(await page.getByText('wants to run').count()).toBe(0)
  await page.getByRole('img', { name: 'running', exact: true }).waitFor()
  await ask.getByRole('button', { name: /^Deny d/ }).click()
  await answers(page).getByText('the user said no').first().waitFor()
})

it('says by its command what runs: in the session, on its card, and after a reload', async () => {
  const { path } = await house.session({ mode: 'full', name: 'a long one' })
  const page = await house.visit(path)
  await send(page, 'take long')
  const doing = page.locator('.session-doing').getByText('running until test -e go-on; do sleep 0.1; done')
  await doing.waitFor()
  await page.reload()
  await doing.waitFor()
  await page.goto(house.url)
  const card = page.getByRole('listitem').filter({ hasText: 'a long one' })
  await card.getByText('running until test -e go-on').waitFor()
  writeFileSync(join(house.workspace, 'go-on'), '')
  await card.getByText('The tool said').waitFor()
})

it('denies with a reason that the model is told', async () => {
  const { path } = await house.session({ mode: 'ask' })
  const page = await house.visit(path)
  await send(page, 'touch it again')
  await page.getByRole('button', { name: /Deny, because/ }).click()
  await page.getByLabel('Why not').fill('use the Makefile')
  await page.keyboard.press('Enter')
  await answers(page).getByText('use the Makefile').waitFor()
})

it('answers a question by its number, whatever else the number does on that page', async () => {
  const { path } = await house.session()
  const page = await house.visit(path)
  await send(page, 'ask me')
  await page.getByRole('region', { name: 'The agent asks' }).getByText('Which colour?').waitFor()
  await page.waitForTimeout(500) // keys pressed as it appears are not meant for it
  await page.keyboard.press('2')
  await answers(page).getByText('You chose blue.').waitFor()
})

it('stops a turn and keeps what was said', async () => {
  const { path } = await house.session()
  const page = await house.visit(path)
  await send(page, 'hang on')
  await answers(page).getByText('Half of the').waitFor()
  await page.getByRole('button', { name: 'Stop' }).click()
  await page.getByText('stopped here').waitFor()
  await page.getByRole('button', { name: 'Stop' }).waitFor({ state: 'detached' })
})

it('tells after a reload what failed, what was denied and what was stopped, and what to do next', async () => {
  const { path } = await house.session({ mode: 'ask' })
  const page = await house.visit(path)
  await send(page, 'be refused')
  await page.getByText('wants to write').waitFor()
  await page.getByRole('button', { name: /Deny/ }).first().click()
  await page.getByText('denied: write').waitFor()
  await page.getByRole('button', { name: 'Stop' }).click()
  await page.getByText('Stopped from web').waitFor()
  await send(page, 'fail at it')
  await page.getByText('Failed: ').waitFor()
  await page.reload()
  for (const told of ['denied: write', 'the user said no', 'stopped: run', 'Stopped from web', 'Failed: '])
    await page.getByText(told).first().waitFor()
  await page.getByRole('link', { name: 'See keys and logins' }).waitFor()
  expect(await page.getByText('Failed: ').count()).toBe(1)
})

it('rewinds files and conversation after showing what that takes away', async () => {
  const file = join(house.workspace, 'greeting.txt')
  writeFileSync(file, 'hello\n')
  const { path } = await house.session()
  const page = await house.visit(path)
  await send(page, 'change it')
  await answers(page).getByText('Changed.').waitFor()
  expect(readFileSync(file, 'utf8')).toBe('good day\n')
  await page.getByRole('complementary').getByText('greeting.txt').waitFor()
  await page.getByRole('button', { name: 'Back to before this message' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('button', { name: /greeting.txt/ }).click()
  await dialog.getByText('good day').waitFor()
  await dialog.getByRole('checkbox', { name: 'Conversation' }).check()
  await dialog.getByRole('button', { name: 'Rewind' }).click()
  await page.getByText('Went back to before turn 1.').waitFor()
  expect(readFileSync(file, 'utf8')).toBe('hello\n')
  await page.getByText('taken back', { exact: true }).first().waitFor()
  await page.getByRole('button', { name: 'Take the rewind back' }).click()
  await page.getByText('The rewind was taken back.').waitFor()
  expect(readFileSync(file, 'utf8')).toBe('good day\n')
  await expect.poll(() => page.getByText('taken back', { exact: true }).count()).toBe(0)
})

it('leaves what a person changed since, and takes it back only when chosen', async () => {
  const file = join(house.workspace, 'greeting.txt')
  writeFileSync(file, 'hello\n')
  const { path } = await house.session()
  const page = await house.visit(path)
  await send(page, 'change it')
  await answers(page).getByText('Changed.').waitFor()
  writeFileSync(file, 'by hand\n')
  await page.getByRole('button', { name: 'Back to before this message' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText('others have changed it since').waitFor()
  await dialog.getByRole('button', { name: 'Rewind' }).click()
  await dialog.getByText('changed by others since').waitFor()
  expect(readFileSync(file, 'utf8')).toBe('by hand\n')
  await dialog.getByRole('checkbox', { name: 'greeting.txt' }).check()
  await dialog.getByRole('button', { name: 'Take back' }).click()
  await dialog.waitFor({ state: 'detached' })
  expect(readFileSync(file, 'utf8')).toBe('hello\n')
})

it('goes on with another provider from the next message', async () => {
  const { path } = await house.session()
  const page = await house.visit(path)
  await send(page, 'first')
  await answers(page).getByText('From one: first').waitFor()
  await page.getByRole('button', { name: /^Model:/ }).click()
  await page.getByLabel('Search models').fill('other/two')
  await page.getByRole('option', { name: 'Use other/two' }).click()
  await page.getByRole('button', { name: 'Model: other/two' }).waitFor()
  await send(page, 'second')
  await answers(page).getByText('From two: second').waitFor()
})

it('switches the mode and a tool off for the next message', async () => {
  const { path } = await house.session()
  const page = await house.visit(path)
  await page.getByRole('button', { name: 'mode full' }).click()
  await page.getByRole('menuitem', { name: /^plan/ }).click()
  await page.getByRole('button', { name: 'mode plan' }).waitFor()
  await page.getByRole('button', { name: 'Tools and MCP servers' }).click()
  await page.getByRole('switch', { name: 'write_file' }).click()
  await page.getByText('tools (1 off)').waitFor()
})

it('shows two browsers the same session live, and lets either answer', async () => {
  const { path } = await house.session({ mode: 'ask' })
  const one = await house.visit(path)
  const other = await house.visit(path)
  await send(one, 'touch it together')
  await other.getByRole('region', { name: 'Permission needed' }).waitFor()
  await other.getByRole('button', { name: /^Once/ }).click()
  await answers(one).getByText('The tool said').waitFor()
  await answers(other).getByText('The tool said').waitFor()
  expect(await one.getByRole('region', { name: 'Permission needed' }).count()).toBe(0)
  expect(await answers(one).allInnerTexts()).toEqual(await answers(other).allInnerTexts())
})

it('goes on in the middle of an answer after a reload, with nothing lost or doubled', async () => {
  const { path } = await house.session()
  const page = await house.visit(path)
  await send(page, 'count slowly')
  await answers(page).getByText('word5').waitFor()
  await page.reload()
  await answers(page).getByText('word59').waitFor()
  expect(await answers(page).allInnerTexts()).toEqual([expect.stringContaining(WORDS)])
})

it('queues what is said meanwhile', async () => {
  const { path } = await house.session()
  const page = await house.visit(path)
  await send(page, 'count slowly, then more')
  await answers(page).getByText('word2').waitFor()
  await send(page, 'and then?')
  await page.getByRole('list', { name: 'Waiting messages' }).getByText('and then?').waitFor()
  await answers(page).getByText('Went on.').waitFor()
  expect(await page.getByRole('list', { name: 'Waiting messages' }).count()).toBe(0)
})

it('holds back what waits when a turn is stopped, lets it be withdrawn, and goes on with the rest when told', async () => {
  const { path } = await house.session()
  const page = await house.visit(path)
  await send(page, 'hang on')
  await answers(page).getByText('Half of the').waitFor()
  const waiting = page.getByRole('list', { name: 'Waiting messages' })
  await send(page, 'never mind')
  await send(page, 'say on')
  await waiting.getByText('say on').waitFor()
  await page.getByRole('button', { name: 'Stop' }).click()
  await page.getByText('Held back until you say go on').waitFor()
  await page.reload()
  await page.getByRole('button', { name: 'Go on with them' }).waitFor()
  const first = waiting.getByRole('listitem').filter({ hasText: 'never mind' })
  await first.getByRole('button', { name: 'Withdraw the message' }).click()
  await page.getByRole('button', { name: 'Go on with it' }).click()
  await answers(page).getByText('Told: say on').waitFor()
  await waiting.waitFor({ state: 'detached' })
  expect(await page.getByText('never mind').count()).toBe(0)
})

it('runs a command of the person in the jail', async () => {
  const { path } = await house.session()
  const page = await house.visit(path)
  await send(page, '!echo from-$((40 + 2))')
  await page.getByText('from-42').first().waitFor()
})

it('survives a restart of the daemon: says so, comes back, and goes on', async () => {
  const { path } = await house.session()
  const page = await house.visit(path)
  await send(page, 'before')
  await answers(page).getByText('From one: before').waitFor()
  await house.stopDaemon('SIGKILL')
  await page.getByText('The daemon cannot be reached.').waitFor()
  await house.startDaemon()
  await page.getByText('The daemon cannot be reached.').waitFor({ state: 'detached' })
  await send(page, 'after')
  await answers(page).getByText('From one: after').waitFor()
  expect(await answers(page).allInnerTexts()).toEqual([
    expect.stringContaining('From one: before'),
    expect.stringContaining('From one: after'),
  ])
})

it('colours code in a language that is loaded when it is first seen, and leaves an unknown one plain', async () => {
  const { path } = await house.session()
  const page = await house.visit(path)
  await send(page, 'in Rust')
  const blocks = answers(page).locator('.code-block')
  await blocks.first().locator('.hljs-keyword').getByText('fn').waitFor({ timeout: 30_000 })
  expect(await blocks.last().locator('code').textContent()).toContain('fn main() {}')
  expect(await blocks.last().locator('.hljs-keyword').count()).toBe(0)
})

it('shows hostile content as text and nothing else', async () => {
  const { path } = await house.session()
  const page = await house.visit(path)
  const asked: string[] = []
  page.on('request', (request) => {
    if (!request.url().startsWith(house.url)) asked.push(request.url())
  })
  page.on('dialog', () => asked.push('a dialog'))
  await send(page, 'evil')
  await answers(page).getByText('the end of it').waitFor()
  expect(await page.evaluate(() => (window as unknown as { hacked?: boolean }).hacked)).toBeUndefined()
  const inside = answers(page)
  expect(
    await inside.locator('script, iframe, img, svg image, object, embed, form, style, link, base, video').count(),
  ).toBe(0)
  const links = await inside.locator('a').evaluateAll((all) => all.map((one) => one.getAttribute('href') ?? ''))
  expect(links.filter((href) => !/^(https?:|mailto:)/.test(href))).toEqual([])
  expect(await inside.locator('[onerror], [onclick], [onload], [style*="position"]').count()).toBe(0)
  expect(asked).toEqual([])
  const box = await inside.first().boundingBox()
  expect(box!.width).toBeLessThan(900)
})

it('follows an answer at its end, and stays put for who has scrolled up', async () => {
  const { path } = await house.session()
  const page = await house.visit(path, { viewport: { width: 1200, height: 420 } })
  const chat = page.locator('.chat-scroll')
  const fromEnd = () => chat.evaluate((box) => box.scrollHeight - box.scrollTop - box.clientHeight)
  await send(page, 'count slowly while I watch')
  await answers(page).getByText('word40').waitFor()
  expect(await fromEnd()).toBeLessThan(60)
  expect(await page.locator('.chat-pill').count()).toBe(0)
  await answers(page).getByText('word59').waitFor()
  await send(page, '!seq 200')
  await page.getByText('199').first().waitFor()
  await page.mouse.move(415, 200) // beside the output, which scrolls by itself
  await page.mouse.wheel(0, -300)
  await page.locator('.chat-pill').waitFor()
  const top = await chat.evaluate((box) => box.scrollTop)
  await send(page, '!echo more-to-see')
  await page.getByText(/↓ \d+ new/).waitFor()
  expect(Math.abs((await chat.evaluate((box) => box.scrollTop)) - top)).toBeLessThan(4)
  await page.locator('.chat-pill').click()
  await page.getByText('more-to-see').last().waitFor()
  await expect.poll(fromEnd).toBeLessThan(4)
})
