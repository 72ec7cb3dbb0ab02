import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { violationsOn } from './axe'
import { House } from './house'
import { has, hasFocus } from './keyboard'
import { ask } from './line'

const SCRIPT = {
  conversations: [
    {
      match: { last_user: 'hang on' },
      steps: [{ text: 'Half of the answer and the other half.', chunk_chars: 8, fault: { name: 'stall', after: 2 } }],
      loop: true,
    },
    { steps: [{ text: 'From {model}: {last_user}' }], loop: true },
  ],
}
/** One red pixel. */
const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==',
  'base64',
)

let house: House

beforeAll(async () => {
  house = await House.open(SCRIPT)
  mkdirSync(join(house.workspace, 'src/shop'), { recursive: true })
  writeFileSync(join(house.workspace, 'src/shop/till.py'), 'class Till:\n    def open_drawer(self): pass\n')
  writeFileSync(join(house.workspace, 'README.md'), '# Shop\n')
  mkdirSync(join(house.workspace, '.openagent/commands'), { recursive: true })
  writeFileSync(
    join(house.workspace, '.openagent/commands/greet.md'),
    '---\ndescription: greet somebody\n---\nSay good day to $ARGUMENTS.\n',
  )
})
afterAll(() => house.close())

const input = (page: Page) => page.getByLabel('Message', { exact: true })
const say = async (page: Page, text: string) => {
  await input(page).fill(text)
  await page.keyboard.press('Enter')
}
const answers = (page: Page) => page.getByRole('article', { name: 'The agent said' })
const said = (page: Page) => page.getByRole('article', { name: 'You said' })
const list = (page: Page) => page.getByRole('listbox', { name: 'Suggestions' })
const waiting = (page: Page) => page.getByRole('list', { name: 'Waiting messages' })

it('lists built-in and own commands with a word on each, and runs them', async () => {
  const { path } = await house.session()
  const page = await house.visit(path)
  await input(page).pressSequentially('/')
  await list(page)
    .getByRole('option', { name: /\/compact.*shorten what the model is shown/ })
    .waitFor()
  await list(page).getByRole('group', { name: 'Your commands' }).getByText('greet somebody').waitFor()
  await page.keyboard.type('renam')
  await page.keyboard.press('Enter')
  expect(await input(page).inputValue()).toBe('/rename ')
  await page.keyboard.type('The parser')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'The parser' }).waitFor()
  await say(page, '/greet Ada')
  await answers(page).getByText('Say good day to Ada.').waitFor()
  await say(page, '/nonsense of a path')
  await answers(page).getByText('From one: /nonsense of a path').waitFor()
  await say(page, '/mode loud')
  await page.getByText('Write one of these after it: plan').waitFor()
  expect(await input(page).inputValue()).toBe('/mode loud')
  await say(page, '/mode plan')
  await page.getByRole('button', { name: 'mode plan' }).waitFor()
})

it('attaches by button, paste and drop, shows each, and sends what is left', async () => {
  const { path } = await house.session()
  const page = await house.visit(path)
  const attached = page.getByRole('list', { name: 'Attached' })
  const choosing = page.waitForEvent('filechooser')
  await page.getByRole('button', { name: 'Attach' }).click()
  await (await choosing).setFiles([
    { name: 'red.png', mimeType: 'image/png', buffer: PNG },
    { name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('three apples') },
  ])
  await attached.getByRole('img', { name: 'red.png' }).waitFor()
  await attached.getByText('notes.txt').waitFor()
  await give(page, 'drop', 'dropped.png', 'image/png')
  await give(page, 'paste', 'pasted.png', 'image/png')
  await attached.getByRole('img', { name: 'pasted.png' }).waitFor()
  await give(page, 'drop', 'program.bin', 'application/octet-stream')
  await page.getByText('program.bin is neither a text nor a picture').waitFor()
  expect(await violationsOn(page)).toEqual([])
  await attached.getByRole('button', { name: 'Remove dropped.png' }).click()
  expect(await attached.getByRole('listitem').count()).toBe(3)
  await say(page, 'what is this?')
  await answers(page).getByText('From one').waitFor()
  expect(await said(page).locator('img').count()).toBe(2)
  await said(page).getByText('three apples').waitFor()
  expect(await attached.count()).toBe(0)
})

/** Files as a desktop gives them to the page. */
async function give(page: Page, how: 'drop' | 'paste', name: string, type: string, padding = 0): Promise<void> {
  await input(page).evaluate(
    (element, given) => {
      const data = new DataTransfer()
      const bytes = [new Uint8Array(given.bytes), new Uint8Array(given.padding)]
      data.items.add(new File(bytes, given.name, { type: given.type }))
      const event =
        given.how === 'drop'
          ? new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true })
          : new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true })
      element.dispatchEvent(event)
    },
    { how, name, type, padding, bytes: [...PNG] },
  )
}

it('edits, moves and sends now what waits, and Stop starts nothing by itself', async () => {
  const { path } = await house.session()
  const page = await house.visit(path)
  await say(page, 'hang on')
  await answers(page).getByText('Half of the').waitFor()
  for (const text of ['first', 'second', 'third']) await say(page, text)
  const rows = waiting(page).getByRole('listitem')
  await rows.nth(2).getByText('third').waitFor()
  const earlier = rows.filter({ hasText: 'third' }).getByRole('button', { name: 'Earlier' })
  await earlier.press('Enter')
  await rows.nth(1).getByText('third').waitFor()
  await has(earlier, 'the focus it had before it moved', () => hasFocus(earlier))
  await rows.nth(0).getByRole('button', { name: 'Edit the message' }).press('Enter')
  await page.getByLabel('Waiting message', { exact: true }).fill('first, in other words')
  await page.keyboard.press('Enter')
  await rows.nth(0).getByText('first, in other words').waitFor()
  const sendFirst = rows.nth(0).getByRole('button', { name: 'Send now' })
  await has(sendFirst, 'the focus', () => hasFocus(sendFirst))
  expect(await violationsOn(page)).toEqual([])
  await page.getByRole('button', { name: 'Stop' }).click()
  await page.getByText('Held back until you say go on').waitFor()
  expect(await answers(page).getByText('From one').count()).toBe(0)
  await rows.nth(1).getByRole('button', { name: 'Send now' }).click()
  await answers(page).getByText('From one: second').waitFor()
  const order = await answers(page).getByText('From one').allTextContents()
  expect(order.map((text) => text.replace('From one: ', ''))).toEqual(['third', 'first, in other words', 'second'])
  await say(page, 'hang on')
  await page.getByRole('button', { name: 'Stop' }).waitFor()
  await say(page, 'at once')
  await waiting(page).getByRole('button', { name: 'Send now' }).press('Enter')
  await answers(page).getByText('From one: at once').waitFor()
  await has(input(page), 'the focus', () => hasFocus(input(page)))
})

it('says an earlier message again: from there, and in a fork with another model', async () => {
  const { path } = await house.session()
  const page = await house.visit(path)
  await say(page, 'one')
  await answers(page).getByText('From one: one').waitFor()
  await say(page, 'two')
  await answers(page).getByText('From one: two').waitFor()
  await input(page).fill('a draft')
  await said(page).first().getByRole('button', { name: 'Edit or send again' }).click()
  const bar = page.getByRole('region', { name: 'Say it again' })
  await bar.waitFor()
  expect(await input(page).inputValue()).toBe('one')
  expect(await violationsOn(page)).toEqual([])
  await input(page).fill('one, but better')
  await bar.getByRole('button', { name: 'Go back and send' }).click()
  await answers(page).getByText('From one: one, but better').waitFor()
  expect(await said(page).getByText('taken back', { exact: true }).count()).toBe(2)
  expect(await input(page).inputValue()).toBe('a draft')

  await said(page).last().getByRole('button', { name: 'Edit or send again' }).click()
  await page.getByRole('combobox', { name: 'Model from there on' }).fill('other')
  await page.getByRole('option', { name: /other/ }).first().click()
  await bar.getByRole('button', { name: 'Send in a fork' }).click()
  await page.waitForURL((url) => !url.pathname.endsWith(path))
  await answers(page).getByText('one, but better').waitFor()
  await page.getByRole('button', { name: /^Model: other\// }).waitFor()
  expect(await answers(page).getByText('From one: one, but better').count()).toBe(0)
})

it('keeps drafts by session over a reload, and focuses the search of the model menu', async () => {
  const one = await house.session({ name: 'one' })
  const other = await house.session({ name: 'other' })
  const page = await house.visit(one.path)
  await input(page).fill('half a thought')
  await page.getByRole('link', { name: /other/ }).first().click()
  await page.waitForURL(`**${other.path}`)
  expect(await input(page).inputValue()).toBe('')
  await page.goto(house.url + one.path)
  await page.reload()
  await input(page).waitFor()
  expect(await input(page).inputValue()).toBe('half a thought')
  await page.getByRole('button', { name: /^Model:/ }).click()
  await page.getByLabel('Search models').waitFor()
  await page.keyboard.type('gp')
  expect(await page.getByLabel('Search models').inputValue()).toBe('gp')
  expect(page.url()).toContain(one.path)
})

it('keeps attachments by session over a reload, until they are sent, and says when it cannot', async () => {
  const { path } = await house.session()
  const other = await house.session({ name: 'beside' })
  const page = await house.visit(path)
  const attached = page.getByRole('list', { name: 'Attached' })
  await give(page, 'paste', 'pasted.png', 'image/png')
  const choosing = page.waitForEvent('filechooser')
  await page.getByRole('button', { name: 'Attach' }).click()
  await (await choosing).setFiles([{ name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('three apples') }])
  await attached.getByText('notes.txt').waitFor()
  await expect.poll(() => keptIn(page)).toEqual([['notes.txt', 'pasted.png']])
  await page.reload()
  await attached.getByRole('img', { name: 'pasted.png' }).waitFor()
  await attached.getByText('notes.txt').waitFor()
  await page
    .getByRole('link', { name: /beside/ })
    .first()
    .click()
  await page.waitForURL(`**${other.path}`)
  await input(page).waitFor()
  expect(await attached.count()).toBe(0)
  await page.goto(house.url + path)
  await attached.getByRole('button', { name: 'Remove pasted.png' }).click()
  await say(page, 'count them')
  await answers(page).getByText('From one').waitFor()
  await said(page).getByText('three apples').waitFor()
  await expect.poll(() => keptIn(page)).toEqual([])
  await page.reload()
  await answers(page).getByText('From one').waitFor()
  expect(await attached.count()).toBe(0)

  for (let nth = 0; nth < 4; nth += 1) await give(page, 'drop', `large-${nth}.png`, 'image/png', 4_900_000)
  await page.getByText('More than 20 MB is attached').waitFor()
  await attached.getByRole('img', { name: 'large-3.png' }).waitFor()
})

/** The names of what this browser keeps, by session. */
function keptIn(page: Page): Promise<string[][]> {
  return page.evaluate(async () => {
    const [database] = (await indexedDB.databases()).filter(({ name }) => name === 'openagent')
    if (!database) return []
    const wait = <T>(request: IDBRequest<T>) =>
      new Promise<T>((resolve, reject) => {
        request.onsuccess = () => resolve(request.result)
        request.onerror = () => reject(request.error)
      })
    const opened = await wait(indexedDB.open('openagent'))
    const all = await wait(opened.transaction('attached').objectStore('attached').getAll())
    opened.close()
    return all.map(({ attached }) => attached.map(({ name }: { name: string }) => name).sort())
  })
}

it('asks in place whether to trust the folder, keeps the answer, and takes it back', async () => {
  writeFileSync(join(house.workspace, '.mcp.json'), '{"mcpServers": {}}')
  const data = join(house.home, 'data')
  const isTrusted = async () => (await ask(data, 'setup.show', { cwd: house.workspace })).folder?.trusted ?? false
  const { path } = await house.session()
  const page = await house.visit(path)
  const dialog = page.getByRole('dialog', { name: 'Trust in this folder' })
  await say(page, '/trust')
  await dialog.getByText('Do you trust this folder?').waitFor()
  await dialog.getByText('.mcp.json', { exact: true }).waitFor()
  await dialog.getByText('which servers and hooks start').waitFor()
  const answer = dialog.getByRole('button', { name: 'Keep this answer' })
  expect(await answer.isDisabled()).toBe(true)
  expect(await violationsOn(page)).toEqual([])
  expect(await isTrusted()).toBe(false)
  await dialog.getByRole('radio', { name: /^Trust them as they are now/ }).check()
  await answer.click()
  await page.getByText('The folder is trusted').waitFor()
  expect(await isTrusted()).toBe(true)
  expect(await input(page).inputValue()).toBe('')
  await say(page, '/trust')
  await dialog.getByRole('button', { name: 'Revoke' }).click()
  await page.getByText('The folder is not trusted any more').waitFor()
  expect(await isTrusted()).toBe(false)
})

it('shows what is said while the daemon is away, and sends it once when it is back', async () => {
  const { id, path } = await house.session()
  const page = await house.visit(path)
  await say(page, 'before')
  await answers(page).getByText('From one: before').waitFor()
  await house.stopDaemon('SIGKILL')
  await say(page, 'meanwhile')
  await say(page, 'and more')
  const unsent = page.getByRole('list', { name: 'Not sent yet' })
  await unsent.getByText('and more').waitFor()
  await unsent.getByText('Goes out when the daemon is back.').first().waitFor()
  expect(await violationsOn(page)).toEqual([])
  await house.startDaemon()
  await answers(page).getByText('From one: and more').waitFor()
  expect(await unsent.count()).toBe(0)
  const { messages } = await ask(join(house.home, 'data'), 'messages.page', { session: id })
  const told = messages
    .filter(({ role }) => role === 'user')
    .map(({ parts }) => parts.map((part) => ('text' in part ? part.text : '')).join(''))
  expect(told.map((text) => text.split('\n').pop())).toEqual(['before', 'meanwhile', 'and more'])
})

it('finds files, symbols and sessions by some letters, and Enter takes one without sending', async () => {
  // An index is told of in every session, so that the others have none.
  await ask(join(house.home, 'data'), 'index.build', { cwd: house.workspace })
  await house.session({ name: 'the till jams' })
  const { path } = await house.session()
  const page = await house.visit(path)
  await input(page).pressSequentially('look at @til')
  await list(page).getByRole('group', { name: 'Files' }).getByText('src/shop/till.py').waitFor()
  await list(page).getByRole('group', { name: 'Symbols' }).getByText('Till.open_drawer').waitFor()
  await list(page).getByRole('group', { name: 'Sessions' }).getByText('the till jams').waitFor()
  expect(await violationsOn(page)).toEqual([])
  await page.keyboard.press('Enter')
  expect(await input(page).inputValue()).toBe('look at @src/shop/till.py ')
  await page.keyboard.type('and @odrw')
  await list(page)
    .getByRole('option', { name: /open_drawer/ })
    .waitFor()
  await page.keyboard.press('Tab')
  expect(await input(page).inputValue()).toBe('look at @src/shop/till.py and Till.open_drawer (@src/shop/till.py:2) ')
  expect(await said(page).count()).toBe(0)
  await page.keyboard.press('Enter')
  await said(page).getByText('look at @src/shop/till.py and Till.open_drawer').waitFor()
})
