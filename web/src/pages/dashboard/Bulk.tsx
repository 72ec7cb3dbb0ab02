import { Button } from '@mantine/core'
import { Suspense, useState } from 'react'
import { act } from '@/lib/ask'
import { later } from '@/lib/later'
import type { Card } from '@/state/overview'

const DeleteMany = later(() => import('./DeleteMany'))

/** What can be done with the sessions that were chosen. */
export function Bulk({ chosen, done }: { chosen: Card[]; done: () => void }) {
  const [deleting, setDeleting] = useState(false)
  const back = chosen.length > 0 && chosen.every(({ info }) => info.archived)
  const archive = async () => {
    await Promise.all(chosen.map(({ info }) => act('session.update', { session: info.id, archived: !back })))
    done()
  }
  return (
    <div className="bulk panel" role="toolbar" aria-label="Chosen sessions">
      <span>
        <span className="mono">{chosen.length}</span> chosen
      </span>
      <Button size="xs" variant="default" disabled={chosen.length === 0} onClick={() => void archive()}>
        {back ? 'Take out of the archive' : 'Archive'}
      </Button>
      <Button size="xs" variant="default" disabled={chosen.length === 0} onClick={() => setDeleting(true)}>
        Delete …
      </Button>
      <Button size="xs" variant="subtle" color="gray" onClick={done}>
        Done
      </Button>
      <Suspense>
        {deleting && (
          <DeleteMany sessions={chosen.map(({ info }) => info)} close={() => setDeleting(false)} done={done} />
        )}
      </Suspense>
    </div>
  )
}
