import { type ComponentType, type LazyExoticComponent, lazy } from 'react'
import { useLink } from '@/state/link'
import { canLeave, isNewer, loadAgain } from './version'

type Load<T> = () => Promise<{ default: T }>

/**
 * A part of the app that comes when it is first needed. While the daemon, which serves it, is away, it waits for it
 * instead of breaking. What is not `heavy` is fetched beforehand, when there is nothing else to do.
 */
// biome-ignore lint/suspicious/noExplicitAny: what props it takes is known by what it loads
export function later<T extends ComponentType<any>>(load: Load<T>, heavy = false): LazyExoticComponent<T> {
  const patient = patiently(load)
  if (!heavy) beforehand(patient)
  return lazy(() => patient())
}

/** A part that was not there although the daemon is: the page is of another version than the daemon. */
export class PartMissing extends Error {
  constructor(readonly updated: boolean) {
    super(
      updated
        ? 'OpenAgent was updated, and this part of the page is only in the new version.'
        : 'A part of this page did not load.',
    )
  }
}

/** Loads when the daemon is there, and again when it went away meanwhile. Nobody waits for what comes `early`. */
export function patiently<T>(load: () => Promise<T>): (early?: 'early') => Promise<T> {
  let loaded: { part: T } | null = null
  return async (early) => {
    for (let tries = 1; ; tries += 1) {
      if (loaded) return loaded.part
      await daemonIsThere()
      try {
        loaded = { part: await load() }
      } catch (problem) {
        if (early || !isMissing(problem)) throw problem
        if (!(await answers())) continue
        // A browser remembers that a part did not load, so only a new page helps; but not twice, and not over edits.
        if (tries > 1) await giveUp()
      }
    }
  }
}

async function giveUp(): Promise<never> {
  const updated = await isNewer()
  if (canLeave() && loadAgain()) await new Promise(() => {})
  throw new PartMissing(updated)
}

/** Whether this is what a browser says when a script or a style sheet does not come. */
export function isMissing(problem: unknown): boolean {
  return (
    problem instanceof Error &&
    /dynamically imported module|Importing a module script|Unable to preload|module script failed/i.test(
      problem.message,
    )
  )
}

async function answers(): Promise<boolean> {
  const answer = await fetch('/icon.svg', { method: 'HEAD', cache: 'no-store' }).catch(() => null)
  if (answer) return true
  await new Promise((resolve) => setTimeout(resolve, 300))
  return false
}

/** Once lost, the daemon counts as away until it has greeted again: a try in between would be one too early. */
let away = false
useLink.subscribe(({ link }) => {
  if (link.state !== 'connecting') away = link.state === 'lost'
})

function daemonIsThere(): Promise<void> {
  if (!away) return Promise.resolve()
  return new Promise((resolve) => {
    const stop = useLink.subscribe(() => {
      if (away) return
      stop()
      resolve()
    })
  })
}

type Early = (early: 'early') => Promise<unknown>

const waiting: Early[] = []
let fetching = false

/** Has this loaded when the browser has nothing else to do. */
export function beforehand(load: Early): void {
  waiting.push(load)
  if (started && !fetching) void fetchWaiting()
}

let started = false

/** From here on, what is to be loaded beforehand is: one part at a time. */
export function beginFetching(): void {
  started = true
  void fetchWaiting()
}

async function fetchWaiting(): Promise<void> {
  fetching = true
  for (let load = waiting.shift(); load; load = waiting.shift()) {
    await idle()
    // What does not load now is told of when it is asked for.
    if (useLink.getState().link.state === 'open') await load('early').catch(() => {})
    else waiting.push(load)
    await daemonIsThere()
  }
  fetching = false
}

function idle(): Promise<void> {
  return new Promise((resolve) => {
    if ('requestIdleCallback' in window) requestIdleCallback(() => resolve(), { timeout: 10_000 })
    else setTimeout(resolve, 500)
  })
}
