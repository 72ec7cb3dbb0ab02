import { Button } from '@mantine/core'
import { useState } from 'react'
import { useAsk } from '@/lib/ask'
import { useRenew } from '@/lib/live'
import { FolderField, whole } from '@/parts/FolderField'
import { Form } from '@/parts/Form'
import { Notices } from '@/parts/Listing'
import { useFolders, useProject } from '@/parts/Project'
import type { TasksSynced } from '@/protocol/types'
import { daemon } from '@/state/daemon'

/** Brings the board and the file of a project together, and tells what that did. */
export function SyncTasks({ done }: { done: () => void }) {
  const renew = useRenew('tasks.list')
  const home = useAsk('folders.list', {}, { staleTime: 60_000 })
  const recent = useFolders()
  const [folder, setFolder] = useState(useProject())
  const [synced, setSynced] = useState<TasksSynced | null>(null)
  const cwd = whole(folder, home.data?.home ?? '')
  const sync = async () => {
    setSynced(await daemon.request('tasks.sync', { cwd }))
    await renew()
  }
  if (synced) return <Synced synced={synced} again={() => setSynced(null)} done={done} />
  return (
    <Form work={sync} action="Sync" ready={cwd !== ''} leave={done}>
      <p className="confirm-text">
        The tasks of a project and its <code>docs/TASKS.md</code> are brought together. What was changed on either side
        since the last time is kept; where there is no file yet, one is written.
      </p>
      <FolderField
        label="Project"
        description="The folder, on the daemon’s machine."
        value={folder}
        change={setFolder}
        recent={recent}
      />
    </Form>
  )
}

function Synced({ synced, again, done }: { synced: TasksSynced; again: () => void; done: () => void }) {
  return (
    <div className="form">
      <div role="status">
        <p className="confirm-text">
          <strong>
            <span className="mono">{synced.file}</span> and the board agree
          </strong>
          : {counted(synced.tasks, 'task')} in both. {whatWent(synced)}
        </p>
      </div>
      <Notices notices={synced.notes} />
      <div className="form-actions">
        <Button variant="default" onClick={again}>
          Another project
        </Button>
        <Button onClick={done} data-autofocus>
          Done
        </Button>
      </div>
    </div>
  )
}

const counted = (count: number, word: string) => `${count} ${word}${count === 1 ? '' : 's'}`

function whatWent({ to_board: toBoard = 0, to_file: toFile = 0 }: TasksSynced): string {
  if (toBoard + toFile === 0) return 'Nothing had changed on either side.'
  const went = [
    ...(toBoard ? [`${counted(toBoard, 'change')} went to the board`] : []),
    ...(toFile ? [`${counted(toFile, 'change')} went to the file`] : []),
  ]
  return `${went.join(', ')}.`
}
