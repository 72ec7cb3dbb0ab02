import type { AnyEvent, ErrorInfo, Ops, Results } from '@/protocol/types'
import { PROTOCOL_VERSION } from '@/protocol/types'

export type OpName = keyof Ops & keyof Results
export type OpFields<K extends OpName> = Omit<Ops[K], 'op' | 'id'>

export type Link =
  | { state: 'connecting' }
  | { state: 'open' }
  | { state: 'lost'; retryAt: number; why: string }
  | { state: 'refused'; why: string }

/** What the daemon answered in place of a result. */
export class Refusal extends Error {
  constructor(readonly info: ErrorInfo) {
    super(info.hint ? `${info.message} ${info.hint}` : info.message)
  }
}

const FIRST_WAIT = 250
const LONGEST_WAIT = 8000
/** A proxy or a sleeping laptop can end a line without a word. Silence for this long is asked about. */
const SILENCE = 20_000

interface Waiting {
  frame: string
  sent: boolean
  resolve: (result: never) => void
  reject: (problem: Error) => void
}

/**
 * The one line to the daemon. Ops given while it is down wait and are sent when it is back;
 * an op whose answer was lost with the line fails, because it may have been carried out.
 */
export class Connection {
  private socket: WebSocket | null = null
  private waiting = new Map<string, Waiting>()
  private count = 0
  private attempt = 0
  private timer = 0
  private pulse = 0
  private heardAt = 0
  private readonly tag = Math.random().toString(36).slice(2, 8)

  constructor(
    private readonly address: () => string,
    private readonly heard: {
      event: (event: AnyEvent) => void
      link: (link: Link) => void
      opened: () => void
      notOpened: () => void
    },
  ) {}

  start(): void {
    this.open()
    addEventListener('online', () => this.retryNow())
  }

  retryNow = (): void => {
    if (this.socket) return
    clearTimeout(this.timer)
    this.open()
  }

  /** `id`: of an op that may be sent again after its answer was lost. */
  request<K extends OpName>(op: K, fields: OpFields<K>, id = `${this.tag}-${++this.count}`): Promise<Results[K]> {
    return new Promise((resolve, reject) => {
      const frame = JSON.stringify({ op, id, ...fields })
      const entry: Waiting = { frame, sent: false, resolve, reject }
      this.waiting.set(id, entry)
      if (this.greeted) this.put(entry)
    })
  }

  private greeted = false

  private put(entry: Waiting): void {
    this.socket?.send(entry.frame)
    entry.sent = true
  }

  private open(): void {
    this.heard.link({ state: 'connecting' })
    const socket = new WebSocket(this.address())
    this.socket = socket
    socket.onopen = () => this.greet(socket)
    socket.onmessage = (message) => {
      this.heardAt = performance.now()
      this.take(JSON.parse(message.data as string) as AnyEvent)
    }
    socket.onclose = (closed) => {
      if (this.socket === socket) this.closed(closed)
    }
  }

  private greet(socket: WebSocket): void {
    const id = `${this.tag}-hello-${++this.count}`
    const entry: Waiting = {
      frame: JSON.stringify({ op: 'hello', id, protocol: PROTOCOL_VERSION, client: 'web', interactive: true }),
      sent: false,
      resolve: () => this.welcomed(),
      reject: (problem) => this.refuse(problem.message),
    }
    this.waiting.set(id, entry)
    if (this.socket === socket) this.put(entry)
  }

  private welcomed(): void {
    this.greeted = true
    this.attempt = 0
    this.heard.link({ state: 'open' })
    this.heard.opened()
    for (const entry of this.waiting.values()) if (!entry.sent) this.put(entry)
    this.heardAt = performance.now()
    clearInterval(this.pulse)
    this.pulse = window.setInterval(() => this.checkPulse(), SILENCE / 2)
  }

  private checkPulse(): void {
    const silent = performance.now() - this.heardAt
    if (silent > SILENCE * 2) this.socket?.close()
    else if (silent > SILENCE) this.request('ping', {}).catch(() => {})
  }

  private take(event: AnyEvent): void {
    if (event.type === 'reply' || event.type === 'failed') {
      const entry = this.waiting.get(event.op_id ?? '')
      this.waiting.delete(event.op_id ?? '')
      if (event.type === 'reply') entry?.resolve(event.result as never)
      else entry?.reject(new Refusal(event.error))
      return
    }
    this.heard.event(event)
  }

  private closed(closed: CloseEvent): void {
    const wasOpen = this.greeted
    this.socket = null
    this.greeted = false
    clearInterval(this.pulse)
    const lost = new Error('The connection to the daemon was lost before it answered.')
    for (const [id, entry] of this.waiting) {
      if (!entry.sent) continue
      this.waiting.delete(id)
      entry.reject(lost)
    }
    // A browser does not say why a line was not opened: logged out looks like a daemon that is not there.
    if (!wasOpen) this.heard.notOpened()
    const wait = Math.min(FIRST_WAIT * 2 ** this.attempt, LONGEST_WAIT)
    this.attempt += 1
    this.heard.link({ state: 'lost', retryAt: Date.now() + wait, why: closed.reason })
    this.timer = window.setTimeout(() => this.open(), wait)
  }

  private refuse(why: string): void {
    this.socket?.close()
    this.socket = null
    this.heard.link({ state: 'refused', why })
  }
}
