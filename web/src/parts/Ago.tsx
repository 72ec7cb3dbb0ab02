import { ago, exactTime } from '@/lib/format'
import { useNow } from '@/lib/time'

/** How long ago, with the exact time on hover. */
export function Ago({ at }: { at: number }) {
  const now = useNow(10_000)
  return (
    <time className="mono" dateTime={new Date(at * 1000).toISOString()} title={exactTime(at)}>
      {ago(at, now)}
    </time>
  )
}
