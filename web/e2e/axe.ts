import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

interface Violation {
  id: string
  nodes: { target: string[]; failureSummary: string }[]
}

const EVERYTHING = { type: 'tag', values: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa'] }
/** All that another theme changes. */
const COLOURS = { type: 'rule', values: ['color-contrast'] }

/** What of WCAG 2.1 AA a page does not keep, in words. The page allows no inline script, so axe comes as the test's own. */
export async function violationsOn(page: Page, what: 'everything' | 'colours' = 'everything'): Promise<string[]> {
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(AXE)
  const found = await page.evaluate(
    async (runOnly) => {
      const { axe } = window as unknown as {
        axe: { run: (where: Document, how: object) => Promise<{ violations: Violation[] }> }
      }
      return (await axe.run(document, { runOnly, resultTypes: ['violations'] })).violations
    },
    what === 'everything' ? EVERYTHING : COLOURS,
  )
  return found.flatMap(({ id, nodes }) =>
    nodes.map(({ target, failureSummary }) => `${id}: ${target.join(' ')} ${failureSummary}`),
  )
}
