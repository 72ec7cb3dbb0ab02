import { Button } from '@mantine/core'
import { Suspense, useEffect, useState } from 'react'
import { later } from '@/lib/later'
import type { SessionInfo } from '@/protocol/types'
import { useLink } from '@/state/link'
import { forget, tryAgain, type Unsent, useOutbox } from '@/state/outbox'

const Elsewhere = later(() => import('./Elsewhere'))

/** Most messages are taken sooner than an eye would see it. */
const NOTICED = 400

/** What was said and is not with the daemon yet: in sight at once, and out as soon as that is back. */
export function UnsentList({ info, edit }: { info: SessionInfo; edit: (one: Unsent) => void }) {
  const session = info.id
  const [moving, setMoving] = useState<Unsent | null>(null)
  const all = useOutbox((state) => state.unsent)
  const away = useLink(({ link }) => link.state !== 'open')
  const own = all.filter((one) => one.session === session)
  const late = useLate(own[0]?.id ?? '')
  if (own.length === 0 || (!away && !late && !own.some(({ problem }) => problem))) return null
  return (
    <ul className="unsent" aria-label="Not sent yet">
      {own.map((one) => (
        <li key={one.id}>
          <div className="unsent-text">{one.text || 'A picture'}</div>
          <div className="unsent-state">
            <span className={one.problem ? 'unsent-problem' : 'dim'} role={one.problem ? 'alert' : 'status'}>
              {one.problem || (away ? 'Goes out when the daemon is back.' : 'On its way …')}
            </span>
            {(one.problem || !one.tried) && (
              <span className="unsent-actions">
                {one.gone && (
                  <Button size="compact-xs" variant="light" onClick={() => setMoving(one)}>
                    Go on in another folder
                  </Button>
                )}
                {one.problem && !one.gone && (
                  <Button size="compact-xs" variant="light" onClick={() => tryAgain(one.id)}>
                    Try again
                  </Button>
                )}
                <Button size="compact-xs" variant="subtle" color="gray" onClick={() => edit(one)}>
                  Edit
                </Button>
                <Button size="compact-xs" variant="subtle" color="gray" onClick={() => forget(one.id)}>
                  Discard
                </Button>
              </span>
            )}
          </div>
        </li>
      ))}
      <Suspense>{moving && <Elsewhere info={info} unsent={moving} close={() => setMoving(null)} />}</Suspense>
    </ul>
  )
}

/** Whether the same one has been there for a while. */
function useLate(id: string): boolean {
  const [late, setLate] = useState('')
  useEffect(() => {
    if (!id) return
    const timer = setTimeout(() => setLate(id), NOTICED)
    return () => clearTimeout(timer)
  }, [id])
  return id !== '' && late === id
}
