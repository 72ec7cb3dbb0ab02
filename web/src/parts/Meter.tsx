import { tokens } from '@/lib/format'
import type { SessionUsage } from '@/protocol/types'
import './meter.css'

/** How full the context is: a bar, and the share in figures. Without a known window only the size. */
export function ContextMeter({ usage, wide = false }: { usage: SessionUsage | undefined; wide?: boolean }) {
  const used = usage?.context_tokens ?? 0
  const window = usage?.context_window ?? 0
  if (used === 0 && !wide) return null
  const percent = window > 0 ? Math.min(100, Math.round((100 * used) / window)) : null
  const tone = percent === null || percent < 70 ? '' : percent < 90 ? ' meter-warn' : ' meter-bad'
  const title = window > 0 ? `${tokens(used)} of ${tokens(window)} tokens` : `${tokens(used)} tokens; window not known`
  return (
    <span className={`meter${tone}`} title={title}>
      <span className="mono meter-used">{tokens(used)}</span>
      <span className="meter-word">ctx</span>
      {wide && percent !== null && (
        <span className="meter-bar" aria-hidden>
          <span style={{ width: `${percent}%` }} />
        </span>
      )}
      {percent !== null && <span className="mono meter-percent">{percent}%</span>}
    </span>
  )
}
