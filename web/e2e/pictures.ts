import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'

const KEPT = join(import.meta.dirname, 'pictures')
const FAILURES = join(import.meta.dirname, '../../build/web-failures')
/** Fonts and rounding differ a little between machines; a page that has changed differs by more. */
const TOLERATED = 0.03
/** Times, durations and folders differ from run to run. */
const CHANGING =
  'time, .tool-outcome, .jail, .system, .session-link-age, .ask-waits, .card-age, .spark, .xterm-rows, .figures, .files-head'

/** Compares with the picture kept, or keeps one where there is none. Returns what differs, in words. */
export async function sameAsKept(page: Page, name: string): Promise<string> {
  await page.mouse.move(0, 0)
  const style = `${CHANGING} { visibility: hidden !important }`
  const taken = await page.screenshot({ style, caret: 'hide', scale: 'css' })
  const file = join(KEPT, `${name}.png`)
  if (!existsSync(file) || process.env.KEEP_PICTURES) {
    mkdirSync(KEPT, { recursive: true })
    writeFileSync(file, taken)
    return ''
  }
  const share = await difference(page, readFileSync(file), taken)
  if (share <= TOLERATED) return ''
  mkdirSync(FAILURES, { recursive: true })
  writeFileSync(join(FAILURES, `${name}.png`), taken)
  return `${(100 * share).toFixed(1)} % of ${name} differ from the picture kept; the new one is in build/web-failures.`
}

/** The share of points that differ clearly, counted by the browser itself, on a page of its own. */
async function difference(page: Page, one: Buffer, other: Buffer): Promise<number> {
  const blank = await page.context().newPage()
  try {
    return await blank.evaluate(
      async ([first, second]) => {
        const points = async (data: string) => {
          const bitmap = await createImageBitmap(await (await fetch(`data:image/png;base64,${data}`)).blob())
          const canvas = new OffscreenCanvas(bitmap.width, bitmap.height)
          const context = canvas.getContext('2d')!
          context.drawImage(bitmap, 0, 0)
          return context.getImageData(0, 0, bitmap.width, bitmap.height)
        }
        const [a, b] = [await points(first!), await points(second!)]
        if (a.width !== b.width || a.height !== b.height) return 1
        let count = 0
        for (let at = 0; at < a.data.length; at += 4) {
          const apart =
            Math.abs(a.data[at]! - b.data[at]!) +
            Math.abs(a.data[at + 1]! - b.data[at + 1]!) +
            Math.abs(a.data[at + 2]! - b.data[at + 2]!)
          if (apart > 60) count += 1
        }
        return count / (a.width * a.height)
      },
      [one.toString('base64'), other.toString('base64')],
    )
  } finally {
    await blank.close()
  }
}
