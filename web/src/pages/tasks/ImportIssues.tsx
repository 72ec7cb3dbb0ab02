import { Button } from '@mantine/core'
import { useState } from 'react'
import { useAsk } from '@/lib/ask'
import { useRenew } from '@/lib/live'
import { FolderField, whole } from '@/parts/FolderField'
import { Form } from '@/parts/Form'
import { useFolders, useProject } from '@/parts/Project'
import type { TasksImported } from '@/protocol/types'
import { daemon } from '@/state/daemon'

/** Makes tasks of a project's open issues. */
export function ImportIssues({ done }: { done: () => void }) {
  const renew = useRenew('tasks.list')
  const home = useAsk('folders.list', {}, { staleTime: 60_000 })
  const recent = useFolders()
  const [folder, setFolder] = useState(useProject())
  const [brought, setBrought] = useState<TasksImported | null>(null)
  const cwd = whole(folder, home.data?.home ?? '')
  const bring = async () => {
    setBrought(await daemon.request('tasks.import', { cwd }))
    await renew()
  }
  if (brought)
    return (
      <div className="form">
        <p className="confirm-text" role="status">
          Issues that became tasks: <strong>{brought.added.length}</strong>. Tasks already: {brought.known}.
        </p>
        <div className="form-actions">
          <Button onClick={done} data-autofocus>
            Done
          </Button>
        </div>
      </div>
    )
  return (
    <Form work={bring} action="Import" ready={cwd !== ''} leave={done}>
      <p className="confirm-text">
        Each open issue of the project’s forge becomes a task, as <code>gh</code> or <code>glab</code> lists them. Those
        that are tasks already stay as they are.
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
