import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { House, PYTHON, REPOSITORY } from './house'

const SERVER = `
import asyncio
from tests.providers_oauth.authorization_server import AuthorizationServer
async def main():
    async with AuthorizationServer() as server:
        print(server.url, flush=True)
        await asyncio.Event().wait()
asyncio.run(main())
`

let house: House
let authorization: ChildProcess
let loginServer: string

beforeAll(async () => {
  authorization = spawn(PYTHON, ['-c', SERVER], { cwd: REPOSITORY, stdio: ['ignore', 'pipe', 'inherit'] })
  const [url] = (await once(createInterface({ input: authorization.stdout! }), 'line')) as [string]
  loginServer = url
  house = await House.open({ conversations: [{ steps: [{ text: 'Good day.' }], loop: true }] })
})
afterAll(async () => {
  authorization.kill()
  await house.close()
})

it('logs in by a code that is typed on the page the link leads to, from the form alone', async () => {
  const page = await house.visit('/auth')
  const dialog = page.getByRole('dialog')
  await page.getByRole('button', { name: 'Log in to a provider' }).click()
  await dialog.getByRole('combobox', { name: 'Whose account' }).click()
  await page.getByRole('option', { name: /login server of your own/ }).click()
  await dialog.getByLabel('Login server').fill(loginServer)
  await dialog.getByLabel('Provider').fill('office')
  await dialog.getByLabel('Where its models answer').fill(`${house.model}/v1`)
  await dialog.getByLabel('Client id').fill('openagent-test')
  await dialog.getByRole('switch', { name: 'By a code, which is typed on any device' }).check()
  await dialog.getByRole('button', { name: 'Go on' }).click()

  const code = (await dialog.locator('.login-code').textContent()) ?? ''
  expect(code).toBe('WDJB-MJHT')
  expect(await dialog.getByLabel('Address to open').inputValue()).toBe(`${loginServer}/activate`)
  if (process.env.SHOTS) await page.screenshot({ path: join(process.env.SHOTS, 'device.png') })
  const opening = page.context().waitForEvent('page')
  await dialog.getByRole('link', { name: 'Open' }).click()
  const other = await opening
  await other.getByLabel('Code').fill(code)
  await other.getByRole('button', { name: 'Allow' }).click()
  await other.getByText('You are logged in.').waitFor()

  await dialog.waitFor({ state: 'detached' })
  const row = page.getByRole('list', { name: 'Logins' }).getByRole('listitem').filter({ hasText: 'office' })
  await row.getByText('logged in', { exact: true }).waitFor()
})
