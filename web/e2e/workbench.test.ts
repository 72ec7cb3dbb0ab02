import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { violationsOn } from './axe'
import { House } from './house'

let house: House

beforeAll(async () => {
  house = await House.open([{ text: 'Hello.' }])
  mkdirSync(join(house.workspace, 'src'))
  writeFileSync(join(house.workspace, 'src', 'a.py'), 'first = 1\n')
})
afterAll(() => house.close())

it('opens, edits and saves a file, and minds what changed meanwhile', async () => {
  const { path } = await house.session()
  const page = await house.visit(`${path}?tab=files`)
  const file = join(house.workspace, 'src', 'a.py')
  await page.getByRole('treeitem', { name: 'src' }).click()
  await page.getByRole('treeitem', { name: 'a.py' }).click()
  const editor = page.locator('.monaco-editor textarea, .monaco-editor .native-edit-context').first()
  await page.locator('.view-line').getByText('first').waitFor()
  await editor.focus()
  await page.keyboard.press('Control+Home')
  await page.keyboard.type('zero = 0')
  await page.keyboard.press('Enter')
  await page.getByText('not saved').first().waitFor()
  await page.keyboard.press('Control+s')
  await page.locator('.files-changed').waitFor({ state: 'detached' })
  expect(readFileSync(file, 'utf8')).toBe('zero = 0\nfirst = 1\n')

  writeFileSync(file, 'theirs = 1\n')
  await page.keyboard.type('mine = 1')
  await page.keyboard.press('Control+s')
  await page.getByRole('button', { name: 'Take theirs' }).click()
  await page.locator('.view-line').getByText('theirs').waitFor()
  expect(readFileSync(file, 'utf8')).toBe('theirs = 1\n')
})

it('downloads a file as it is: a text, one that is no text, a picture, and one too large to be shown', async () => {
  const contents: Record<string, Buffer> = {
    'notes.txt': Buffer.from('as it is, ümlauts too\n'),
    'data.bin': Buffer.from([0, 255, 1, 254, 10, 13]),
    'dot.png': Buffer.from(
      'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
      'base64',
    ),
    'large.log': Buffer.alloc(9 * 1024 * 1024 + 7, 'all of it\n'),
  }
  const { path } = await house.session()
  for (const [name, content] of Object.entries(contents)) writeFileSync(join(house.workspace, name), content)
  const page = await house.visit(`${path}?tab=files`)
  for (const [name, content] of Object.entries(contents)) {
    await page.getByRole('treeitem', { name }).click()
    const downloading = page.waitForEvent('download', { timeout: 30_000 })
    await page.getByRole('button', { name: `Download ${name}` }).click({ timeout: 30_000 })
    const given = await downloading
    expect(given.suggestedFilename()).toBe(name)
    expect(content.equals(readFileSync(await given.path())), name).toBe(true)
    expect(await violationsOn(page)).toEqual([])
    if (process.env.SHOTS) await page.screenshot({ path: join(process.env.SHOTS, `download-${name}.png`) })
  }
})

it("gives a shell in the session's jail that lives on while another tab is looked at", async () => {
  const { path } = await house.session()
  const page = await house.visit(`${path}?tab=terminal`)
  const screen = page.locator('.xterm-rows')
  await page.locator('.xterm-helper-textarea').focus()
  await page.keyboard.type('kept=41; echo sum-$((kept + 1)); pwd; ls src\n')
  await screen.getByText('sum-42').waitFor()
  await screen.getByText('a.py').waitFor()
  await page.getByRole('tab', { name: 'chat' }).click()
  await page.getByRole('tab', { name: 'terminal' }).click()
  await page.locator('.xterm-helper-textarea').focus()
  await page.keyboard.type('echo still-$kept\n')
  await screen.getByText('still-41').waitFor()
  await page.keyboard.type('exit\n')
  await page.getByText('The shell has ended').waitFor()
})

it('finds what was said in any session from the palette', async () => {
  const { path } = await house.session({ name: 'a greeting' })
  const page = await house.visit(path)
  await page.getByLabel('Message', { exact: true }).fill('remember the aardvark please')
  await page.keyboard.press('Enter')
  await page.getByRole('article', { name: 'The agent said' }).getByText('Hello.').waitFor()
  await page.goto(house.url)
  await page.getByRole('heading', { name: 'Sessions' }).waitFor()
  await page.keyboard.press('Control+k')
  await page.getByPlaceholder('Search sessions, pages and commands …').fill('aardvark')
  await page.getByText('remember the aardvark').click()
  await page.waitForURL(`${house.url}${path}?at=1`)
  await page.locator('.chat-row-wanted').getByText('remember the aardvark').waitFor()
})
