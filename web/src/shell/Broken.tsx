import { Button } from '@mantine/core'
import { IconAlertTriangle, IconRefresh } from '@tabler/icons-react'
import { type ErrorComponentProps, useRouter } from '@tanstack/react-router'
import { useEffect } from 'react'
import { messageOf } from '@/lib/ask'
import { isMissing, PartMissing } from '@/lib/later'
import { EmptyState } from '@/parts/states'
import { useLink } from '@/state/link'

/** A page that broke, inside the frame: what happened, and the ways on. When the daemon comes back it tries by itself. */
export function Broken({ error, reset }: ErrorComponentProps) {
  const router = useRouter()
  const missing = error instanceof PartMissing || isMissing(error)
  const again = () => {
    if (missing) {
      location.reload()
      return
    }
    reset()
    void router.invalidate()
  }
  useEffect(() => {
    let away = useLink.getState().link.state !== 'open'
    return useLink.subscribe(({ link }) => {
      if (link.state === 'lost') away = true
      else if (link.state === 'open' && away && !missing) {
        away = false
        reset()
        void router.invalidate()
      }
    })
  }, [router, reset, missing])
  return (
    <EmptyState
      icon={missing ? <IconRefresh size={24} /> : <IconAlertTriangle size={24} />}
      title={missing ? 'This page has to be loaded again' : 'This page broke'}
      action={
        <div className="state-actions">
          <Button onClick={again}>{missing ? 'Load it again' : 'Try again'}</Button>
          <Button variant="default" onClick={() => router.history.back()}>
            Back
          </Button>
          <Button variant="default" onClick={() => void router.navigate({ to: '/' })}>
            To the sessions
          </Button>
        </div>
      }
    >
      {missing ? messageOf(error) : `It said: ${messageOf(error)}. Nothing you did in other pages is affected.`}
    </EmptyState>
  )
}
