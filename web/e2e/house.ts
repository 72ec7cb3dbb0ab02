import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { chromium } from 'playwright-core'
import { expect, onTestFinished } from 'vitest'
import type { Mode } from '../src/lib/modes'
import { installNext } from './next-build'

export const REPOSITORY = resolve(import.meta.dirname, '../..')
export const PYTHON = join(REPOSITORY, '.venv/bin/python')
const FAILURES = join(REPOSITORY, 'build/web-failures')
const PATIENCE = 15_000

type ContextOptions = NonNullable<Parameters<Browser['newContext']>[0]>
type Login = Awaited<ReturnType<BrowserContext['cookies']>>
export type Step = Record<string, unknown>
export type Script =
  | Step[]
  | { conversations: { match?: unknown; loop?: boolean; steps: Step[] }[]; [key: string]: unknown }

/** The real program and a model that plays a script, in a home of their own, with a browser that is logged in. */
export class House {
  private constructor(
    readonly home: string,
    readonly workspace: string,
    readonly model: string,
    readonly url: string,
    private readonly port: number,
    private daemon: ChildProcess,
    private readonly simulator: ChildProcess,
    private readonly browser: Browser,
    private readonly env: Record<string, string>,
  ) {}

  /** `bare`: nothing is set up but what `config` says. `env`: what the daemon finds besides in its environment. */
  static async open(
    script: Script,
    config = '',
    { bare = false, env: more = {} }: { bare?: boolean; env?: Record<string, string> } = {},
  ): Promise<House> {
    const launching = chromium.launch({
      executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
      args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--force-color-profile=srgb'],
    })
    const home = mkdtempSync(join(tmpdir(), 'openagent-web-'))
    const workspace = join(home, 'project')
    mkdirSync(workspace)
    const file = join(home, 'script.json')
    writeFileSync(file, JSON.stringify(script))
    const simulator = spawn(PYTHON, ['-m', 'devtools.simulator', '--script', file], {
      cwd: REPOSITORY,
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const first = await firstLine(simulator)
    const model = (JSON.parse(first) as { url: string }).url
    const settings = join(home, 'config.toml')
    writeFileSync(settings, bare ? config : settingsFor(model, config))
    const env = {
      PATH: process.env.PATH ?? '/usr/bin:/bin',
      HOME: home,
      OPENAGENT_HOME: join(home, 'data'),
      OPENAGENT_CONFIG: settings,
      LANG: 'C.UTF-8',
      ...more,
    }
    const port = await freePort()
    const daemon = await serve(env, port)
    return new House(home, workspace, model, `http://127.0.0.1:${port}`, port, daemon, simulator, await launching, env)
  }

  private login: Promise<Login> | undefined

  /** A browser of its own, logged in, until the test ends. The link is followed once, and its cookie kept for the others. */
  async visit(path = '/', options: ContextOptions = {}): Promise<Page> {
    this.login ??= this.followLink()
    const page = await this.open({ storageState: { cookies: await this.login, origins: [] }, ...options })
    await page.goto(this.url + path)
    return page
  }

  /** A browser of its own that nobody logged in, until the test ends. */
  async open(options: ContextOptions = {}): Promise<Page> {
    const page = await this.browse(options)
    const problems: string[] = []
    page.on('pageerror', (problem) => problems.push(problem.message))
    page.on('console', (said) => {
      if (said.text().includes('Content Security Policy')) problems.push(said.text())
    })
    onTestFinished(async ({ task }) => {
      if (task.result?.state === 'fail') await photograph(page, task.name)
      await page.context().close()
      expect(problems).toEqual([])
    })
    return page
  }

  /** The same for as long as the house is open; `listen` hears it from its first moment. */
  async stay(path: string, listen: (page: Page) => void): Promise<Page> {
    const page = await this.browse({})
    listen(page)
    await this.enter(page)
    await page.waitForLoadState('networkidle')
    if (path !== '/') await page.goto(this.url + path)
    return page
  }

  private async browse(options: ContextOptions): Promise<Page> {
    const context: BrowserContext = await this.browser.newContext({
      viewport: { width: 1440, height: 900 },
      reducedMotion: 'reduce',
      colorScheme: 'dark',
      locale: 'en-GB',
      ...options,
    })
    context.setDefaultTimeout(PATIENCE)
    return context.newPage()
  }

  private async followLink(): Promise<Login> {
    const page = await this.browse({})
    await this.enter(page)
    const cookies = await page.context().cookies()
    await page.context().close()
    return cookies
  }

  private async enter(page: Page): Promise<void> {
    const { url } = JSON.parse(await this.run('web', '--json')) as { url: string }
    await page.goto(url)
    await page.waitForURL(`${this.url}/`)
  }

  /** The command line of the same program, in the same home. */
  async run(...given: string[]): Promise<string> {
    const child = spawn(PYTHON, ['-m', 'openagent', ...given], {
      env: this.env,
      cwd: this.workspace,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const [out, problems] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')])
    if (child.exitCode !== 0) throw new Error(`openagent ${given.join(' ')}: ${problems}${out}`)
    return out
  }

  /** A session in this house's project, and its address in the web app. */
  async session(settings: { mode?: Mode; model?: string; name?: string } = {}): Promise<{ id: string; path: string }> {
    const { ask } = await import('./line')
    const made = await ask(join(this.home, 'data'), 'session.create', {
      cwd: this.workspace,
      name: settings.name ?? 'test session',
      settings: { model: settings.model ?? 'scripted/one', mode: settings.mode ?? 'full' },
    })
    return { id: made.id, path: `/sessions/${made.id}` }
  }

  /** A session with so many messages, straight into the store. */
  async longSession(count: number): Promise<{ id: string; path: string }> {
    const program = [join(import.meta.dirname, 'long_session.py'), this.workspace, String(count)]
    const child = spawn(PYTHON, program, {
      env: { ...this.env, PYTHONPATH: REPOSITORY },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const [id] = await Promise.all([text(child.stdout), once(child, 'exit')])
    return { id, path: `/sessions/${id}` }
  }

  async stopDaemon(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    this.daemon.kill(signal)
    if (this.daemon.exitCode === null && this.daemon.signalCode === null) await once(this.daemon, 'exit')
  }

  async startDaemon(): Promise<void> {
    this.daemon = await serve(this.env, this.port)
  }

  /** From the next start on, the daemon is of the next version. */
  upgrade(): void {
    Object.assign(this.env, installNext(join(this.home, 'next')))
  }

  async close(): Promise<void> {
    await this.browser.close()
    this.daemon.kill()
    this.simulator.kill()
    if (this.daemon.exitCode === null && this.daemon.signalCode === null) await once(this.daemon, 'exit')
    rmSync(this.home, { recursive: true, force: true })
  }
}

/** What was to be seen when a test failed. */
export async function photograph(page: Page, test: string): Promise<void> {
  const name = test.replace(/\W+/g, '-').slice(0, 60)
  await page.screenshot({ path: join(FAILURES, `${name}.png`) }).catch(() => {})
}

function settingsFor(model: string, more: string): string {
  const provider = (name: string) =>
    `[providers.${name}]\nkind = "compatible"\nbase_url = "${model}/v1"\napi_key = "k"\n`
  return `model = "scripted/one"\n${more}\n${provider('scripted')}\n${provider('other')}`
}

async function serve(env: Record<string, string>, port: number): Promise<ChildProcess> {
  const daemon = spawn(PYTHON, ['-m', 'openagent', 'serve', '--web-socket', `127.0.0.1:${port}`], {
    env: { ...env, OPENAGENT_READY_FD: '3' },
    stdio: ['ignore', 'inherit', 'inherit', 'pipe'],
  })
  const said = await text(daemon.stdio[3] as NodeJS.ReadableStream)
  if (said !== 'ok') throw new Error(`The daemon did not start: ${said}`)
  return daemon
}

async function freePort(): Promise<number> {
  const { createServer } = await import('node:net')
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  return port
}

async function firstLine(child: ChildProcess): Promise<string> {
  const lines = createInterface({ input: child.stdout! })
  const [line] = (await once(lines, 'line')) as [string]
  return line
}

async function text(stream: NodeJS.ReadableStream | null): Promise<string> {
  let all = ''
  for await (const piece of stream ?? []) all += String(piece)
  return all
}
