import type { Page } from 'playwright-core'

export interface Figures {
  /** Kilobytes of script over the line before the page was quiet: what is fetched beforehand comes after. */
  script: number
  /** Milliseconds to the largest thing in sight. */
  lcp: number
  /** How much of what was in sight moved by itself. */
  shift: number
  /** Milliseconds of the longest task. */
  task: number
}

/** From the next page on, the browser itself takes note of how loading feels. */
export async function watchFigures(page: Page): Promise<void> {
  await page.addInitScript(() => {
    const seen = { lcp: 0, shift: 0, task: 0 }
    Object.assign(window, { seen })
    const watch = (
      type: string,
      take: (entry: PerformanceEntry & { value?: number; hadRecentInput?: boolean }) => void,
    ) => new PerformanceObserver((list) => list.getEntries().forEach(take)).observe({ type, buffered: true })
    watch('largest-contentful-paint', (entry) => {
      seen.lcp = entry.startTime
    })
    watch('layout-shift', (entry) => {
      if (!entry.hadRecentInput) seen.shift += entry.value ?? 0
    })
    watch('longtask', (entry) => {
      seen.task = Math.max(seen.task, entry.duration)
    })
  })
}

/** After the page has settled; what was fetched before it was in sight counts as its first load. */
export async function figuresOf(page: Page): Promise<Figures> {
  await page.waitForLoadState('networkidle')
  await page.waitForTimeout(3000)
  return page.evaluate(() => {
    const { seen } = window as unknown as { seen: Omit<Figures, 'script'> }
    const [loaded] = performance.getEntriesByType('navigation') as PerformanceNavigationTiming[]
    const until = Math.max(seen.lcp, loaded?.loadEventEnd ?? 0)
    const scripts = (performance.getEntriesByType('resource') as PerformanceResourceTiming[]).filter(
      ({ name, startTime }) => name.endsWith('.js') && startTime <= until,
    )
    return { ...seen, script: scripts.reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0) / 1000 }
  })
}
