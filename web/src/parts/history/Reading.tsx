import { bytes } from '@/lib/format'
import { HowFar, useRead } from '@/parts/HowFar'

/** How far the reading of other agents’ sessions is. */
export function Reading() {
  const { stage = 'Looking', done = 0, total = 0, messages = 0 } = useRead() ?? {}
  const stored = messages > 0 ? ` · ${messages.toLocaleString('en-GB')} messages` : ''
  return <HowFar stage={stage} done={done} total={total} measure={`${bytes(done)} of ${bytes(total)}${stored}`} />
}
