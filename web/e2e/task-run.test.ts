import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, it } from 'vitest'
import { House, PYTHON, REPOSITORY } from './house'

const shell = (command: string) => ({ tool_calls: [{ name: 'shell', arguments: { command } }] })
const SCRIPT = [
  shell('echo hello > greeting.txt'),
  { text: 'There is a greeting.' },
  { text: 'Greet\n\nA file says hello.' },
  shell('echo Hello. > greeting.txt'),
  { text: 'It is a sentence now.' },
]
let house: House
let root: string

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'openagent-forge-'))
  const make = 'import sys, pathlib; from tests.interaction.forge import Forge; Forge(pathlib.Path(sys.argv[1]))'
  execFileSync(PYTHON, ['-c', make, root], { cwd: REPOSITORY })
  writeFileSync(join(root, 'gitconfig'), '[user]\n\tname = Ada\n\temail = ada@example.org\n')
  const env = { PATH: `${join(root, 'programs')}:${process.env.PATH}`, GIT_CONFIG_GLOBAL: join(root, 'gitconfig') }
  house = await House.open(SCRIPT, '[tasks]\nfollow_every = 0.5\n', { env })
  for (const words of [
    ['init', '-q', '-b', 'main'],
    ['commit', '-q', '--allow-empty', '-m', 'first'],
    ['remote', 'add', 'origin', join(root, 'far.git')],
    ['push', '-q', 'origin', 'main'],
  ])
    execFileSync('git', ['-C', house.workspace, ...words], { env: { ...process.env, ...env } })
}, 60_000)
afterAll(async () => {
  await house?.close()
  rmSync(root, { recursive: true, force: true })
})

it('gives a task to an agent and shows how its pull request comes along', { timeout: 180_000 }, async () => {
  const { id } = JSON.parse(await house.run('tasks', 'add', 'Greet', '--link', 'docs/plan.md', '--json'))
  await house.run('tasks', 'add', 'Announce it', '--after', id)
  const page = await house.visit('/tasks')
  const card = (name: string) => page.getByRole('listitem').filter({ hasText: name })
  await card('Announce it').getByText('Waits for 1 other task').waitFor()
  await page.getByRole('button', { name: 'Greet', exact: true }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('button', { name: 'Give it to an agent' }).click()
  await dialog.getByText('In review').waitFor({ timeout: 60_000 })
  const forge = join(root, 'forge.json')
  const review = {
    id: 'PRR_1',
    author: { login: 'bob' },
    authorAssociation: 'MEMBER',
    body: 'A sentence.',
    state: 'COMMENTED',
  }
  writeFileSync(`${forge}.new`, JSON.stringify({ ...JSON.parse(readFileSync(forge, 'utf8')), reviews: [review] }))
  execFileSync('mv', [`${forge}.new`, forge])
  const log = dialog.getByRole('region', { name: 'Progress' })
  await log.getByText('Answered: It is a sentence now.').waitFor({ timeout: 60_000 })
  await log.getByLabel('Note').fill('Bob is content')
  await log.getByRole('button', { name: 'Note it' }).click()
  await log.getByText('Bob is content').waitFor()
  await dialog.getByLabel('Detail').fill('Politely.')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await dialog.waitFor({ state: 'detached' })
  const doing = page.getByRole('region', { name: 'Doing' })
  await doing.getByText('Politely.').waitFor()
  await doing.getByRole('link', { name: 'https://forge.test/ada/house/pull/1' }).waitFor()
})
