import type { Locator, Page } from 'playwright-core'

/** More stops than this on the way to something are too many for anybody. */
const MOST_STOPS = 120

/** A person who has a keyboard and nothing else: what is seen is waited for, and all that is done is done by keys. */
export class Hands {
  constructor(readonly page: Page) {}

  async press(...keys: string[]): Promise<void> {
    for (const key of keys) await this.page.keyboard.press(key)
  }

  async type(text: string): Promise<void> {
    await this.page.keyboard.type(text)
  }

  /** Over what is in the field already. */
  async write(text: string): Promise<void> {
    await this.press('Control+a')
    await this.type(text)
  }

  /** From stop to stop until this has the focus. */
  async tabTo(there: Locator, key: 'Tab' | 'Shift+Tab' = 'Tab'): Promise<void> {
    await there.waitFor()
    const stops: string[] = []
    for (let stop = 0; stop < MOST_STOPS; stop += 1) {
      if (await hasFocus(there)) return
      await this.press(key)
      stops.push(await focused(this.page))
    }
    throw new Error(`${there} cannot be reached with ${key}. On the way: ${stops.join(' | ')}`)
  }

  async pressOn(there: Locator, key: 'Tab' | 'Shift+Tab' = 'Tab'): Promise<void> {
    await this.tabTo(there, key)
    await this.press('Enter')
  }

  /** One of a few, with the arrow keys. */
  async choose(wanted: Locator, group: Locator): Promise<void> {
    const radios = await group.getByRole('radio').all()
    for (const radio of radios) if (await radio.isChecked()) await this.tabTo(radio)
    for (const _ of radios) if (!(await wanted.isChecked())) await this.press('ArrowRight')
    if (!(await wanted.isChecked())) throw new Error(`${wanted} cannot be chosen with the arrow keys`)
  }

  /** The first thing that the palette finds for these words. */
  async palette(words: string, found: string | RegExp = words): Promise<void> {
    const search = this.page.getByPlaceholder('Search sessions, pages and commands …')
    // A page that is only just there may miss a key; whoever sees nothing presses it again.
    await has(search, 'come', async () => {
      await this.press('Control+k')
      return search.waitFor({ timeout: 5_000 }).then(
        () => true,
        () => false,
      )
    })
    await has(search, 'the focus', () => hasFocus(search))
    await this.write(words)
    const first = this.page.locator('.mantine-Spotlight-action').first()
    await first.filter({ hasText: found }).waitFor()
    await this.press('Enter')
    await search.waitFor({ state: 'detached' })
  }

  /** A question's key: it counts from a moment after the question came. */
  async answer(question: Locator, key: string): Promise<void> {
    await question.waitFor()
    await has(question, `no answer to ${key}`, async () => {
      if ((await question.count()) === 0) return true
      await this.press(key)
      return (await question.count()) === 0
    })
  }
}

export const hasFocus = (there: Locator): Promise<boolean> =>
  there.evaluate((element) => element === document.activeElement).catch(() => false)

export async function has(there: Locator, what: string, holds: () => Promise<boolean>): Promise<void> {
  const until = Date.now() + 15_000
  while (!(await holds())) {
    if (Date.now() > until) throw new Error(`${there} does not have ${what}`)
    await there.page().waitForTimeout(40)
  }
}

function focused(page: Page): Promise<string> {
  return page.evaluate(() => {
    const { activeElement: at } = document
    return at
      ? `${at.tagName.toLowerCase()} ${at.getAttribute('aria-label') ?? at.textContent?.slice(0, 20) ?? ''}`
      : ''
  })
}
