import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

const PACKAGE = resolve(import.meta.dirname, '../../src/openagent')
const BUILT = join(PACKAGE, 'web_dist')

/**
 * The next version, installed beside this one below `folder`: the same program with another build of the same app, every
 * file of it under another name. A daemon that finds it first (`PYTHONPATH`) is one that was upgraded.
 */
export function installNext(folder: string): { PYTHONPATH: string } {
  const there = join(folder, 'openagent')
  mkdirSync(there, { recursive: true })
  for (const name of readdirSync(PACKAGE))
    if (name !== 'web_dist' && name !== '__pycache__') symlinkSync(join(PACKAGE, name), join(there, name))
  buildNext(join(there, 'web_dist'))
  return { PYTHONPATH: folder }
}

function buildNext(folder: string): void {
  const packed = (name: string) => /\.(gz|br)$/.test(name)
  const names = readdirSync(join(BUILT, 'assets')).filter((name) => !packed(name))
  const known = new Set(names)
  const renamed = (name: string) => name.replace(/(-[\w-]+)?\.(\w+)$/, '-next$1.$2')
  const rewritten = (file: string) =>
    readFileSync(join(BUILT, file), 'utf8').replace(/[\w.-]+-[\w-]{8}\.\w+/g, (name) =>
      known.has(name) ? renamed(name) : name,
    )
  mkdirSync(join(folder, 'assets'), { recursive: true })
  for (const name of readdirSync(BUILT))
    if (name !== 'assets' && !packed(name)) writeFileSync(join(folder, name), rewritten(name))
  for (const name of names) {
    const to = join(folder, 'assets', renamed(name))
    if (/\.(js|css)$/.test(name)) writeFileSync(to, rewritten(`assets/${name}`))
    else cpSync(join(BUILT, 'assets', name), to)
  }
}
