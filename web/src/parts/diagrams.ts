import type { Drawn, Wanted } from './diagram-worker'

/** Layout can take long, and a hostile diagram forever: it is done beside the page, and given up after this long. */
const PATIENCE = 8000
const LONGEST = 20_000

let worker: Worker | null = null
let count = 0

let last: Promise<unknown> = Promise.resolve()

/** The address of a picture of this diagram, in the colours of now. One at a time. */
export function draw(code: string): Promise<string> {
  const next = last.then(() => drawNow(code))
  last = next.catch(() => {})
  return next
}

function drawNow(code: string): Promise<string> {
  if (code.length > LONGEST) return Promise.reject(new Error('it is too long'))
  worker ??= new Worker(new URL('./diagram-worker.ts', import.meta.url), { type: 'module' })
  const asked = worker
  const id = ++count
  return new Promise((resolve, reject) => {
    const end = (act: () => void, broken = false) => {
      clearTimeout(timer)
      asked.onmessage = null
      asked.onerror = null
      if (broken) {
        asked.terminate()
        worker = null
      }
      act()
    }
    const timer = setTimeout(() => end(() => reject(new Error('it took too long')), true), PATIENCE)
    asked.onerror = () => end(() => reject(new Error('what draws it did not load')), true)
    asked.onmessage = ({ data }: MessageEvent<Drawn>) => {
      if (data.id !== id) return
      end(() => ('svg' in data ? resolve(asAddress(data.svg)) : reject(new Error(data.problem))))
    }
    asked.postMessage({ id, code, colours: coloursNow() } satisfies Wanted)
  })
}

function asAddress(svg: string): string {
  return `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`
}

function coloursNow(): Wanted['colours'] {
  const style = getComputedStyle(document.documentElement)
  const colour = (name: string) => style.getPropertyValue(name).trim()
  return {
    bg: colour('--oa-panel'),
    fg: colour('--oa-text'),
    accent: colour('--oa-accent'),
    line: colour('--oa-dim'),
    surface: colour('--oa-raised'),
    border: colour('--oa-line-strong'),
    muted: colour('--oa-dim'),
  }
}
