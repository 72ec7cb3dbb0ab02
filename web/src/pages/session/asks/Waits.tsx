import { ago } from '@/lib/format'
import { useNow } from '@/lib/time'
import type { PermissionAsk } from '@/protocol/types'
import { whoWaits } from './words'

/** Since when something waits for the answer, and how long it still does. */
export function Waits({ ask }: { ask: PermissionAsk }) {
  const now = useNow(1000, Boolean(ask.asked_at))
  if (!ask.asked_at) return null
  const left = ask.until ? ask.until - now : null
  const until = ask.until ? `Denied at ${new Date(ask.until * 1000).toLocaleTimeString()} unless somebody answers` : ''
  return (
    <span className="ask-waits dim" title={until}>
      {whoWaits(ask)} <span className="mono">{ago(ask.asked_at, now).replace('now', '0 s')}</span>
      {left !== null && (
        <>
          , denied in <span className="mono">{ago(0, Math.max(left, 0)).replace('now', '0 s')}</span>
        </>
      )}
    </span>
  )
}
