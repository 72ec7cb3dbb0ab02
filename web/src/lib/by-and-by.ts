import { useEffect, useState } from 'react'

/** Runs when the browser has painted what is drawn now; the way to have it not run. */
function afterPaint(run: () => void): () => void {
  let timer: ReturnType<typeof setTimeout>
  const frame = requestAnimationFrame(() => {
    timer = setTimeout(run)
  })
  return () => {
    cancelAnimationFrame(frame)
    clearTimeout(timer)
  }
}

/** Whether what is drawn has been in sight: what is heavy waits for it. */
export function usePainted(): boolean {
  const [painted, setPainted] = useState(false)
  useEffect(() => afterPaint(() => setPainted(true)), [])
  return painted
}

/**
 * How many of a long list are drawn by now: so many at once, then as many more each time the browser has painted, since
 * all of them together would hold up the page. Another `list` begins anew; `all` draws what is missing.
 */
export function useByAndBy(list: string, length: number, atOnce: number): { drawn: number; all: () => void } {
  const [{ of, count }, setState] = useState({ of: list, count: atOnce })
  const drawn = of === list ? count : atOnce
  const missing = drawn < length
  useEffect(() => {
    if (missing) return afterPaint(() => setState({ of: list, count: drawn + atOnce }))
  }, [list, drawn, missing, atOnce])
  return { drawn, all: () => setState({ of: list, count: length }) }
}
