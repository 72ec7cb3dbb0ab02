import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Page } from 'playwright-core'

const BUILT = resolve(import.meta.dirname, '../../src/openagent/web_dist')
const TYPES: Record<string, string> = { js: 'text/javascript', css: 'text/css', woff2: 'font/woff2' }

/** From here on the page's files come from another build: the same app, every file of it under another name. */
export async function serveNextBuild(page: Page): Promise<void> {
  const names = readdirSync(join(BUILT, 'assets')).filter((name) => !/\.(gz|br)$/.test(name))
  const renamed = (name: string) => name.replace(/(-[\w-]+)?\.(\w+)$/, '-next$1.$2')
  const old = new Map(names.map((name) => [renamed(name), name]))
  const known = new Set(names)
  const rewritten = (file: string) =>
    readFileSync(join(BUILT, file), 'utf8').replace(/[\w.-]+-[\w-]{8}\.\w+/g, (name) =>
      known.has(name) ? renamed(name) : name,
    )
  await page.route('**/*', async (route) => {
    const { pathname } = new URL(route.request().url())
    if (route.request().resourceType() === 'document' || pathname === '/')
      return route.fulfill({ contentType: 'text/html', body: rewritten('index.html') })
    if (!pathname.startsWith('/assets/')) return route.fallback()
    const name = old.get(pathname.slice('/assets/'.length))
    if (!name) return route.fulfill({ status: 404, body: 'There is nothing here.' })
    const kind = name.split('.').pop() ?? ''
    const text = kind === 'js' || kind === 'css'
    return route.fulfill({
      contentType: TYPES[kind] ?? 'application/octet-stream',
      body: text ? rewritten(`assets/${name}`) : readFileSync(join(BUILT, 'assets', name)),
    })
  })
}
