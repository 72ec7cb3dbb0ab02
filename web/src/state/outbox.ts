import { create } from 'zustand'
import { Refusal } from '@/connection/connection'
import type { Ops } from '@/protocol/types'
import { daemon } from './daemon'
import { useLink } from './link'

export type UserParts = NonNullable<Ops['message.send']['parts']>

/** A message that the daemon has not confirmed yet. */
export interface Unsent {
  /** The op's id: under it the daemon takes the message once, however often it is sent. */
  id: string
  session: string
  text: string
  parts: UserParts
  at: number
  /** It was put on the line before, and nobody knows what became of it. */
  tried: boolean
  /** Why the daemon did not take it. */
  problem: string
  /** The folder that its session works in is no more. */
  gone?: boolean
}

const KEY = 'openagent.unsent'

/**
 * What was said and is not with the daemon yet. It outlives a reload, in this tab alone: another tab with the same list
 * would send it as well.
 */
export const useOutbox = create<{ unsent: Unsent[] }>(() => ({ unsent: kept() }))

useOutbox.subscribe(({ unsent }) => {
  try {
    if (unsent.length > 0) sessionStorage.setItem(KEY, JSON.stringify(unsent))
    else sessionStorage.removeItem(KEY)
  } catch {
    // Pictures may be larger than what a browser keeps: then it lives as long as the page.
  }
})

/** Takes a message at once; it goes out as soon as the line is there, in the order in which it was said. */
export function say(session: string, text: string, parts: UserParts = []): void {
  const id = `say-${crypto.getRandomValues(new Uint32Array(4)).join('-')}`
  const one: Unsent = { id, session, text, parts, at: Date.now() / 1000, tried: false, problem: '' }
  useOutbox.setState(({ unsent }) => ({ unsent: [...unsent, one] }))
  void sendAll(session)
}

export function tryAgain(id: string): void {
  change(id, { problem: '' })
  const one = useOutbox.getState().unsent.find((each) => each.id === id)
  if (one) void sendAll(one.session)
}

export function forget(id: string): void {
  useOutbox.setState(({ unsent }) => ({ unsent: unsent.filter((each) => each.id !== id) }))
}

/** Sends what waits whenever the line is there. */
export function startOutbox(): void {
  const sendEverything = () => {
    for (const session of new Set(useOutbox.getState().unsent.map((one) => one.session))) void sendAll(session)
  }
  useLink.subscribe(({ link }, before) => {
    if (link.state === 'open' && before.link.state !== 'open') sendEverything()
  })
  addEventListener('beforeunload', (event) => {
    if (useLink.getState().link.state !== 'open' && useOutbox.getState().unsent.length > 0) event.preventDefault()
  })
}

const sending = new Set<string>()

async function sendAll(session: string): Promise<void> {
  if (sending.has(session)) return
  sending.add(session)
  try {
    for (let one = next(session); one && isOpen(); one = next(session)) if (!(await send(one))) break
  } finally {
    sending.delete(session)
  }
}

/** One that was refused stops those behind it: they may make no sense without it. */
function next(session: string): Unsent | undefined {
  const one = useOutbox.getState().unsent.find((each) => each.session === session)
  return one?.problem ? undefined : one
}

async function send({ id, session, text, parts, tried }: Unsent): Promise<boolean> {
  change(id, { tried: true })
  try {
    await daemon.request('message.send', { session, text, parts, again: tried }, id)
    forget(id)
    return true
  } catch (problem) {
    // Without an answer it stays, and is sent again under the same id.
    if (problem instanceof Refusal)
      change(id, { problem: problem.message, gone: problem.info.code === 'workspace_gone' })
    return false
  }
}

function isOpen(): boolean {
  return useLink.getState().link.state === 'open'
}

function change(id: string, made: Partial<Unsent>): void {
  useOutbox.setState(({ unsent }) => ({ unsent: unsent.map((one) => (one.id === id ? { ...one, ...made } : one)) }))
}

function kept(): Unsent[] {
  try {
    return JSON.parse(sessionStorage.getItem(KEY) ?? '[]') as Unsent[]
  } catch {
    return []
  }
}
