import { Button } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Suspense, useState } from 'react'
import { act } from '@/lib/ask'
import { useFollowing } from '@/lib/following'
import { apart } from '@/lib/ignored'
import { later } from '@/lib/later'
import { tell } from '@/lib/tell'
import { Ago } from '@/parts/Ago'
import { Confirm } from '@/parts/Confirm'
import { Churn } from '@/parts/Diff'
import { IgnoredFiles } from '@/parts/IgnoredFiles'
import type { ChangedFile, MergeConflict, SessionInfo, WorkspaceCopy } from '@/protocol/types'
import { daemon } from '@/state/daemon'

const Conflicts = later(() => import('./Conflicts'))

/** Copies of this workspace, or the copy this session works in: what they hold, and the way back into the origin. */
export function Copies({ session, changedAt }: { session: SessionInfo; changedAt: number }) {
  const copies = useFollowing(['workspaces.list', 'review', session.cwd], changedAt, async () => {
    const { copies: all } = await daemon.request('workspaces.list', {})
    return all.filter(({ origin, path }) => origin === session.cwd || path === session.cwd)
  })
  if (!copies.data?.length) return null
  return (
    <section className="review-copies" aria-label="Copies of the workspace">
      <h3>Copies</h3>
      {copies.data.map((copy) => (
        <Copy key={copy.id} copy={copy} again={() => void copies.refetch()} />
      ))}
    </section>
  )
}

function Copy({ copy, again }: { copy: WorkspaceCopy; again: () => void }) {
  const [conflicts, setConflicts] = useState<MergeConflict[]>([])
  const [busy, setBusy] = useState(false)
  const [removing, setRemoving] = useState(false)
  const changes = useQuery({
    queryKey: ['workspaces.diff', copy.id],
    queryFn: () => daemon.request('workspaces.diff', { copy: copy.id }),
  })
  const files = changes.data?.files ?? []
  const [known, ignored] = apart(files, (file) => file)
  const merge = async () => {
    setBusy(true)
    const done = await act('workspaces.merge', { copy: copy.id })
    setBusy(false)
    void changes.refetch()
    if (!done) return
    setConflicts(done.conflicts ?? [])
    if (!done.conflicts?.length) tellMerged((done.applied?.length ?? 0) + (done.merged?.length ?? 0))
  }
  const remove = async () => {
    await act('workspaces.remove', { copy: copy.id, force: files.length > 0 })
    again()
  }
  return (
    <div className="review-copy">
      <p className="cut" title={copy.path}>
        <span className="mono">{copy.name}</span>{' '}
        <span className="dim">
          made <Ago at={copy.created_at} />
        </span>
      </p>
      <Changes files={known} />
      <IgnoredFiles files={ignored}>
        <Changes files={ignored} />
      </IgnoredFiles>
      {changes.data && files.length === 0 && <p className="dim">Nothing that is not here already.</p>}
      <div className="review-copy-actions">
        <Button
          size="compact-xs"
          variant="default"
          loading={busy}
          disabled={files.length === 0}
          onClick={() => void merge()}
        >
          Merge {copy.name}
        </Button>
        <Button size="compact-xs" variant="subtle" color="gray" onClick={() => setRemoving(true)}>
          Remove …
        </Button>
      </div>
      <Confirm
        opened={removing}
        close={() => setRemoving(false)}
        title={`Remove the copy ${copy.name}`}
        action="Remove"
        run={remove}
      >
        {files.length > 0
          ? `It holds changes to ${files.length} ${files.length === 1 ? 'file' : 'files'} that were not merged. They are lost.`
          : 'Everything in it is merged already.'}
      </Confirm>
      <Suspense>
        {conflicts.length > 0 && (
          <Conflicts
            copy={copy}
            conflicts={conflicts}
            settled={(left, count) => {
              setConflicts(left)
              void changes.refetch()
              if (left.length === 0) tellMerged(count)
            }}
            close={() => setConflicts([])}
          />
        )}
      </Suspense>
    </div>
  )
}

function Changes({ files }: { files: ChangedFile[] }) {
  return (
    <ul>
      {files.slice(0, 20).map((file) => (
        <li key={file.path} className="review-item">
          <span className={`mono change-${file.status}`}>{file.status}</span>
          <span className="mono review-item-path">
            <bdi>{file.path}</bdi>
          </span>
          <Churn added={file.added} removed={file.removed} />
        </li>
      ))}
    </ul>
  )
}

function tellMerged(count: number): void {
  tell({
    tone: 'plain',
    title: 'Merged',
    text:
      count === 0
        ? 'No file had to change.'
        : `${count} ${count === 1 ? 'file is' : 'files are'} in the workspace now.`,
  })
}
