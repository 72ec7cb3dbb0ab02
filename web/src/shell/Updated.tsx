import { Button } from '@mantine/core'
import { canLeave, useVersion } from '@/lib/version'

/** Says that the daemon serves a newer build than this tab runs. */
export function Updated() {
  const newer = useVersion((state) => state.newer)
  if (!newer) return null
  return (
    <div className="connection-bar updated-bar" role="status">
      <span>
        {canLeave()
          ? 'OpenAgent was updated. The next page you open comes in the new version; what you are writing is kept.'
          : 'OpenAgent was updated. Save what is open, then load the page again.'}
      </span>
      <Button size="compact-xs" variant="default" onClick={() => location.reload()}>
        Load it now
      </Button>
    </div>
  )
}
