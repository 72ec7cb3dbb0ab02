import type { AnyEvent } from '@/protocol/types'

/** Shortest time between two changes of what is shown: 25 a second read as flowing, and leave the page time to breathe. */
const SHORTEST_GAP = 40

/** Collects events and hands them on together, once per frame at most. */
export class FrameQueue {
  private waiting: AnyEvent[] = []
  private scheduled = false
  private lastAt = 0

  constructor(private readonly hand: (events: AnyEvent[]) => void) {}

  add(event: AnyEvent): void {
    this.waiting.push(event)
    if (this.scheduled) return
    this.scheduled = true
    const wait = SHORTEST_GAP - (performance.now() - this.lastAt)
    // A hidden tab gets no frames, and still has to keep up.
    if (wait > 0 || document.hidden) setTimeout(() => this.onFrame(), Math.max(0, wait))
    else this.onFrame()
  }

  flush(): void {
    const events = this.waiting
    this.waiting = []
    if (events.length > 0) this.hand(events)
  }

  private onFrame(): void {
    const done = () => {
      this.scheduled = false
      this.lastAt = performance.now()
      this.flush()
    }
    if (document.hidden) done()
    else requestAnimationFrame(done)
  }
}
