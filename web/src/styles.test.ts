import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, it } from 'vitest'

/** Every style sheet that was ever loaded counts on every page: a class that two pages dress is dressed by both. */
it('no class is dressed by two folders', () => {
  const owners = new Map<string, Set<string>>()
  // What styles.css says is said for the whole app.
  const sheets = readdirSync(import.meta.dirname, { recursive: true, encoding: 'utf8' }).filter((file) =>
    /.[\\/].+\.css$/.test(file),
  )
  for (const file of sheets) {
    const rules = readFileSync(join(import.meta.dirname, file), 'utf8').replace(/\/\*[\s\S]*?\*\//g, '')
    for (const [, selectors = ''] of rules.matchAll(/([^{}]+)\{/g))
      for (const one of selectors.split(',')) {
        const alone = /^\.([a-zA-Z][\w-]*)(?=[\s:[]|$)/.exec(one.trim())?.[1]
        if (alone) owners.set(alone, (owners.get(alone) ?? new Set()).add(dirname(file)))
      }
  }
  const shared = [...owners].filter(([, folders]) => folders.size > 1).map(([name]) => name)
  expect(shared).toEqual([])
})
