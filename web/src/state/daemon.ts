import { create, type StoreApi, type UseBoundStore } from 'zustand'
import { Connection, type OpFields, type OpName, Refusal } from '@/connection/connection'
import type { AnyEvent, Results } from '@/protocol/types'
import { type Conversation, fromSnapshot, reduce, withOlder } from './conversation'
import { FrameQueue } from './frames'
import { useLink } from './link'
import { reduceOverview, useOverview, withAsks, withTold } from './overview'
import { usePeople } from './people'

export type SessionState = { conversation: Conversation | null; problem: string }
export type SessionStore = UseBoundStore<StoreApi<SessionState>>

const FIRST_PAGE = 60
const OLDER_PAGE = 100
const SESSIONS_PAGE = 200
/** How long a session that nobody looks at stays attached: going back and forth is instant. */
const LINGER = 30_000

interface Followed {
  store: SessionStore
  viewers: number
  /** Between asking and the answer, what the overview hears of the session is part of the answer already. */
  attached: 'no' | 'asked' | 'yes'
  leaving: number
  loadingOlder: boolean
}

/** Everything the app knows of the daemon goes through here: one line, one overview, one store per open session. */
class Daemon {
  private readonly followed = new Map<string, Followed>()
  private readonly queue = new FrameQueue((events) => this.apply(events))
  private readonly listeners = new Set<(event: AnyEvent) => void>()
  private readonly atOnce = new Set<(event: AnyEvent) => void>()
  private readonly connection = new Connection(socketAddress, {
    event: (event) => {
      for (const listener of this.atOnce) listener(event)
      this.queue.add(event)
    },
    link: (link) => {
      if (link.state === 'lost') for (const one of this.followed.values()) one.attached = 'no'
      useLink.setState({ link })
    },
    opened: () => this.begin(),
    notOpened: () => void goToLoginIfLoggedOut(),
  })

  start(): void {
    this.connection.start()
  }

  retryNow = (): void => this.connection.retryNow()

  request<K extends OpName>(op: K, fields: OpFields<K>, id?: string): Promise<Results[K]> {
    return this.connection.request(op, fields, id)
  }

  /** Hears every event of the line, after the stores have. Returns how to stop. */
  listen(listener: (event: AnyEvent) => void): () => void {
    this.listeners.add(listener)
    return () => this.listeners.delete(listener)
  }

  /** Hears every event in the moment it comes, not with the next frame. Returns how to stop. */
  listenAtOnce(listener: (event: AnyEvent) => void): () => void {
    this.atOnce.add(listener)
    return () => this.atOnce.delete(listener)
  }

  /** The store of a session; attached for as long as somebody looks. */
  session(id: string): SessionStore {
    return this.entry(id).store
  }

  look(id: string): () => void {
    const one = this.entry(id)
    one.viewers += 1
    clearTimeout(one.leaving)
    if (one.attached === 'no' && useLink.getState().link.state === 'open') void this.attach(id, one)
    return () => {
      one.viewers -= 1
      if (one.viewers === 0) one.leaving = window.setTimeout(() => this.leave(id, one), LINGER)
    }
  }

  async loadOlder(id: string, limit = OLDER_PAGE): Promise<void> {
    const one = this.entry(id)
    const conversation = one.store.getState().conversation
    if (!conversation?.hasMore || one.loadingOlder) return
    one.loadingOlder = true
    try {
      const before = conversation.messages[0]?.number
      const page = await this.request('messages.page', { session: id, before, limit })
      one.store.setState((state) =>
        state.conversation ? { conversation: withOlder(state.conversation, page) } : state,
      )
    } finally {
      one.loadingOlder = false
    }
  }

  private entry(id: string): Followed {
    const known = this.followed.get(id)
    if (known) return known
    const store = create<SessionState>(() => ({ conversation: null, problem: '' }))
    const made: Followed = { store, viewers: 0, attached: 'no', leaving: 0, loadingOlder: false }
    this.followed.set(id, made)
    return made
  }

  private begin(): void {
    void this.request('daemon.follow', { on: true })
    void this.list()
    void this.askWhoIsHere().catch(() => {})
    for (const [id, one] of this.followed) if (one.viewers > 0) void this.attach(id, one)
  }

  /** Who is looking, and whose sessions they may meet. */
  async askWhoIsHere(): Promise<void> {
    usePeople.setState(await this.request('people.me', {}), true)
  }

  /** The sessions come together with what they ask: nothing on the dashboard makes way for a question afterwards. */
  private async list(): Promise<void> {
    const asking = this.request('asks.list', {}).catch(() => ({ asks: [] }))
    // Those of other agents are many, and nobody waits for them: they are asked for where they are shown.
    const listed = await this.request('session.list', { limit: SESSIONS_PAGE, brought: false })
    const { asks } = await asking
    useOverview.setState((state) => withAsks(withTold(state, listed.sessions, true), asks))
  }

  private async attach(id: string, one: Followed): Promise<void> {
    one.attached = 'asked'
    const known = one.store.getState().conversation
    try {
      const { snapshot } = await this.request('session.attach', {
        session: id,
        after: known ? known.seq : null,
        messages: FIRST_PAGE,
      })
      this.queue.flush()
      one.attached = 'yes'
      // It may be older than those that are listed.
      if (snapshot) useOverview.setState((state) => withTold(state, [snapshot.info], false))
      one.store.setState({ conversation: snapshot ? fromSnapshot(snapshot, known) : known, problem: '' })
    } catch (problem) {
      one.attached = 'no'
      if (!(problem instanceof Refusal)) return
      // What is not for them any more is not shown on.
      const lost = problem.info.code === 'not_found' || problem.info.code === 'permission_denied'
      one.store.setState((state) => ({ problem: problem.message, conversation: lost ? null : state.conversation }))
    }
  }

  private leave(id: string, one: Followed): void {
    if (one.viewers > 0) return
    this.followed.delete(id)
    if (one.attached !== 'no') void this.request('session.detach', { session: id }).catch(() => {})
  }

  /** One frame's events: each store changes at most once. */
  private apply(events: AnyEvent[]): void {
    const bySession = new Map<string, AnyEvent[]>()
    let overview = useOverview.getState()
    for (const event of events) {
      overview = reduceOverview(overview, event)
      if (!event.session) continue
      const own = bySession.get(event.session)
      if (own) own.push(event)
      else bySession.set(event.session, [event])
    }
    // One that is not listed goes on: it is among the newest from now on.
    if (
      overview.loaded &&
      events.some((event) => event.type === 'turn.started' && !overview.cards[event.session ?? ''])
    )
      void this.list()
    if (overview !== useOverview.getState()) useOverview.setState(overview)
    for (const [id, own] of bySession) {
      const one = this.followed.get(id)
      if (one?.attached !== 'yes') continue
      one.store.setState((state) =>
        state.conversation ? { conversation: own.reduce(reduce, state.conversation) } : state,
      )
    }
    for (const event of events) for (const listener of this.listeners) listener(event)
  }
}

function socketAddress(): string {
  return `${location.protocol === 'https:' ? 'wss' : 'ws'}://${location.host}/ws`
}

/** Without a login every page leads to the one that gives one. */
async function goToLoginIfLoggedOut(): Promise<void> {
  const answer = await fetch('/api/me').catch(() => null)
  if (answer?.status !== 401 && answer?.status !== 429) return
  const { pathname, search, hash } = location
  const here = pathname + search + hash
  location.assign(here === '/' ? '/login' : `/login?after=${encodeURIComponent(here)}`)
}

export const daemon = new Daemon()
