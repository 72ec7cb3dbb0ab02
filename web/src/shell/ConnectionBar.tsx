import { Button } from '@mantine/core'
import { useEffect, useState } from 'react'
import { useNow } from '@/lib/time'
import { daemon } from '@/state/daemon'
import { useLink } from '@/state/link'

/** A short break heals unseen; after this long, it is said. */
const UNSEEN = 400

/** Says that the daemon cannot be heard, when it is tried again, and lets a person try now. */
export function ConnectionBar() {
  const link = useLink((state) => state.link)
  const [shown, setShown] = useState(false)
  const down = link.state !== 'open'
  useEffect(() => {
    if (!down) {
      setShown(false)
      return
    }
    const timer = setTimeout(() => setShown(true), UNSEEN)
    return () => clearTimeout(timer)
  }, [down])
  const now = useNow(500, shown)
  if (!shown) return null
  const wait = link.state === 'lost' ? Math.max(0, Math.ceil(link.retryAt / 1000 - now)) : 0
  return (
    <div className="connection-bar" role="status">
      <span className="connection-dot" />
      <span>
        {link.state === 'refused'
          ? `${link.why} Load the page again; what is unsaved here can still be copied.`
          : link.state === 'lost'
            ? `The daemon cannot be reached. What you see is from before; trying again${wait ? ` in ${wait} s` : ''}.`
            : 'Connecting to the daemon …'}
      </span>
      {link.state === 'lost' && (
        <Button size="compact-xs" variant="default" onClick={daemon.retryNow}>
          Try now
        </Button>
      )}
      {link.state === 'refused' && (
        <Button size="compact-xs" variant="default" onClick={() => location.reload()}>
          Load it again
        </Button>
      )}
    </div>
  )
}
