import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { violationsOn } from './axe'
import { House } from './house'

const ANN = 'ann@example.org'
const BOB = 'bob@example.org'
const PASSWORD = 'correct horse battery'
let house: House

beforeAll(async () => {
  house = await House.open(
    { conversations: [{ steps: [{ text: 'Good day.' }], loop: true }] },
    '[people]\nfolder = "~/people"',
  )
})
afterAll(() => house.close())

/** With `SHOTS`, what a person sees: three widths, dark and light. */
async function picture(page: Page, name: string): Promise<void> {
  if (!process.env.SHOTS) return
  for (const colorScheme of ['dark', 'light'] as const) {
    await page.emulateMedia({ colorScheme })
    for (const width of [390, 820, 1440]) {
      await page.setViewportSize({ width, height: 900 })
      await page.screenshot({ path: join(process.env.SHOTS, `${name}-${colorScheme}-${width}.png`) })
    }
  }
  await page.emulateMedia({ colorScheme: 'dark' })
}

async function begin(page: Page, says: string): Promise<void> {
  await page.getByRole('button', { name: 'New session' }).first().click()
  const form = page.getByRole('dialog', { name: 'New session' })
  await form.getByLabel('First message').fill(says)
  await form.getByRole('button', { name: 'Start' }).click()
  await page.getByText('Good day.').waitFor()
}

async function signIn(page: Page, address: string, password: string): Promise<void> {
  await page.getByLabel('Address').fill(address)
  await page.getByLabel('Password', { exact: true }).fill(password)
  await page.getByRole('button', { name: 'Sign in' }).click()
}

it('somebody is invited, chooses a password, comes back with it, and is removed', { timeout: 180_000 }, async () => {
  await house.session({ name: 'what is only the owner’s' })
  const owner = await house.visit('/people')
  await owner.getByText('No people yet').waitFor()
  await picture(owner, 'people-nobody')
  await owner.getByRole('button', { name: 'Add a person' }).click()
  await owner.getByLabel('Address').fill(ANN)
  await owner.getByRole('button', { name: 'Add', exact: true }).click()
  const given = owner.getByRole('dialog', { name: `Invitation for ${ANN}` })
  const link = await given.getByLabel('The link').inputValue()
  await given.getByRole('button', { name: 'Copy' }).waitFor()
  expect(await violationsOn(owner)).toEqual([])
  await picture(owner, 'invitation-dialog')
  await owner.keyboard.press('Escape')
  const people = owner.getByRole('list', { name: 'People' })
  await people.getByText('invited').waitFor()
  await picture(owner, 'people-invited')

  const ann = await house.open()
  await ann.goto(link)
  await ann.getByText(`You have been invited to OpenAgent at ${new URL(house.url).host}.`).waitFor()
  expect(await ann.getByLabel('Address').inputValue()).toBe(ANN)
  expect(ann.url(), 'the secret is out of the history').toBe(`${house.url}/invitation`)
  expect(await violationsOn(ann)).toEqual([])
  await picture(ann, 'invitation')
  await ann.getByLabel('Password', { exact: true }).fill('too short')
  await ann.getByRole('button', { name: 'Set password' }).click()
  expect(
    await ann.getByLabel('Password', { exact: true }).evaluate((field: HTMLInputElement) => field.validity.tooShort),
  ).toBe(true)
  await ann.getByLabel('Password', { exact: true }).fill(PASSWORD)
  await ann.getByRole('button', { name: 'Set password' }).click()
  const me = ann.getByRole('button', { name: `You: ${ANN}` })
  await me.waitFor()
  await begin(ann, 'what is only Ann’s')
  await ann.goto(house.url)
  await ann.getByText('what is only Ann’s').first().waitFor()
  expect(await ann.getByText('what is only the owner’s').count()).toBe(0)

  await me.click()
  await picture(ann, 'person-menu')
  await ann.getByRole('menuitem', { name: 'Change password' }).click()
  await ann.getByLabel('Current password').fill('another password')
  await ann.getByLabel('New password').fill(`${PASSWORD} 2`)
  await ann.getByRole('button', { name: 'Change password' }).click()
  await ann.getByText('The current password is incorrect.').waitFor()
  expect(await violationsOn(ann)).toEqual([])
  await picture(ann, 'password')
  await ann.getByLabel('Current password').fill(PASSWORD)
  await ann.getByRole('button', { name: 'Change password' }).click()
  await ann.getByText('Password changed. You are signed out everywhere else.').waitFor()
  await picture(ann, 'password-changed')
  await ann.getByRole('link', { name: 'Back to OpenAgent' }).click()

  await me.click()
  await ann.getByRole('menuitem', { name: 'Sign out' }).click()
  await ann.getByRole('button', { name: 'Sign in' }).waitFor()
  expect(await violationsOn(ann)).toEqual([])
  await picture(ann, 'login')
  await signIn(ann, ANN, PASSWORD)
  await ann.getByText('Incorrect address or password.').waitFor()
  await picture(ann, 'login-wrong')
  await ann.goto(`${house.url}/tasks?x=1`)
  await signIn(ann, ANN, `${PASSWORD} 2`)
  await me.waitFor()
  expect(ann.url(), 'the page that was wanted').toBe(`${house.url}/tasks?x=1`)

  const late = await house.open()
  await late.goto(link)
  await late.getByText('This link has expired, was already used, or was replaced by a newer one.').waitFor()
  expect(await violationsOn(late)).toEqual([])
  await picture(late, 'invitation-used')
  const again = JSON.parse(await house.run('people', 'invite', ANN, '--json')) as { link: string }
  // In the same tab, which loads no page for it.
  await late.goto(again.link)
  await late.getByLabel('Password', { exact: true }).waitFor()

  await owner.reload()
  await picture(owner, 'people-joined')
  await owner.getByRole('button', { name: `Remove ${ANN}` }).click()
  await picture(owner, 'people-remove')
  await owner.getByRole('dialog').getByRole('button', { name: 'Remove' }).click()
  await ann.getByText('This browser is not logged in.').waitFor()
  await people.waitFor({ state: 'detached' })
  await owner.goto(house.url)
  await owner.getByText(`of ${ANN}`).first().waitFor()
  await owner.getByText('what is only Ann’s').first().waitFor()
})

it('lets a terminal in, and slows down who guesses', { timeout: 180_000 }, async () => {
  const { link } = JSON.parse(await house.run('people', 'add', BOB, '--json')) as { link: string }
  const bob = await house.open()
  const asked = await bob.request.post(`${house.url}/api/device/code`, { data: { client: 'a terminal' } })
  const { verification_uri_complete: place } = (await asked.json()) as { verification_uri_complete: string }
  await bob.goto(link)
  await bob.getByLabel('Password', { exact: true }).fill(PASSWORD)
  await bob.getByRole('button', { name: 'Set password' }).click()
  await bob.getByRole('button', { name: `You: ${BOB}` }).waitFor()
  await bob.context().clearCookies()
  await bob.goto(place)
  await signIn(bob, BOB, PASSWORD)
  await bob.getByText('a terminal asks to act as you.').waitFor()
  await bob.getByRole('button', { name: 'Let it in as me' }).click()
  await bob.getByText('It is let in.').waitFor()

  await bob.context().clearCookies()
  await bob.goto(`${house.url}/login`)
  const data = { email: BOB, password: 'not the password', after: '/' }
  const guess = async () => {
    await Promise.all(Array.from({ length: 24 }, () => bob.request.post(`${house.url}/api/sign-in/password`, { data })))
    await signIn(bob, BOB, data.password)
    await bob.getByRole('button', { name: 'Sign in', disabled: false }).waitFor()
    return bob.getByRole('alert').textContent()
  }
  await expect.poll(guess, { timeout: 100_000 }).toMatch(/^Too many incorrect passwords\. Try again in \d+ seconds\./)
  await picture(bob, 'login-slowed')
})
