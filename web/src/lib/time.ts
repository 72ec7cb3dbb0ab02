import { useEffect, useState } from 'react'

/** The time in seconds, as a number that changes every so many milliseconds. */
export function useNow(every: number, running = true): number {
  const [now, setNow] = useState(() => Date.now() / 1000)
  useEffect(() => {
    if (!running) return
    setNow(Date.now() / 1000)
    const timer = setInterval(() => setNow(Date.now() / 1000), every)
    return () => clearInterval(timer)
  }, [every, running])
  return now
}
