import { ActionIcon, Button, Menu } from '@mantine/core'
import { IconDots, IconFileDiff, IconPlayerPlay, IconTrash } from '@tabler/icons-react'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { act, useAsk } from '@/lib/ask'
import { apart } from '@/lib/ignored'
import { useRenew } from '@/lib/live'
import { Ago } from '@/parts/Ago'
import { Confirm } from '@/parts/Confirm'
import { Churn, Diff } from '@/parts/Diff'
import { IgnoredFiles } from '@/parts/IgnoredFiles'
import { Chip, Quiet, Row } from '@/parts/Listing'
import { ErrorState, LoadingRows } from '@/parts/states'
import type { ChangedFile, WorkspaceCopy } from '@/protocol/types'

const METHODS: Record<WorkspaceCopy['method'], string> = {
  overlay: 'only changes take space',
  worktree: 'git worktree',
  copy: 'full copy',
}

export function CopyRow({ copy }: { copy: WorkspaceCopy }) {
  const navigate = useNavigate()
  const renew = useRenew('workspaces.list')
  const [open, setOpen] = useState(false)
  const [removing, setRemoving] = useState(false)
  const left = copy.left_out ?? []
  const start = async () => {
    const made = await act('session.create', { cwd: copy.path, name: copy.name })
    if (made) await navigate({ to: '/sessions/$id', params: { id: made.id } })
  }
  const remove = async () => {
    await act('workspaces.remove', { copy: copy.id, force: true })
    await renew()
  }
  return (
    <Row
      name={copy.name}
      chips={
        <>
          <Chip>{METHODS[copy.method]}</Chip>
          {left.length > 0 && (
            <Chip tone="warn" title={left.join('\n')}>
              {left.length} left out
            </Chip>
          )}
        </>
      }
      about={<span className="mono">{copy.path}</span>}
      figures={<Ago at={copy.created_at} />}
      actions={
        <>
          <Button
            size="compact-sm"
            variant="default"
            leftSection={<IconFileDiff size={14} />}
            aria-expanded={open}
            onClick={() => setOpen(!open)}
          >
            Changes<span className="visually-hidden"> of {copy.name}</span>
          </Button>
          <Menu position="bottom-end">
            <Menu.Target>
              <ActionIcon variant="subtle" color="gray" aria-label={`More about ${copy.name}`}>
                <IconDots size={16} />
              </ActionIcon>
            </Menu.Target>
            <Menu.Dropdown>
              <Menu.Item leftSection={<IconPlayerPlay size={16} />} onClick={() => void start()}>
                Start a session in it
              </Menu.Item>
              <Menu.Item className="menu-bad" leftSection={<IconTrash size={16} />} onClick={() => setRemoving(true)}>
                Remove …
              </Menu.Item>
            </Menu.Dropdown>
          </Menu>
        </>
      }
    >
      {open && <Changes copy={copy.id} />}
      <Confirm
        opened={removing}
        close={() => setRemoving(false)}
        title={`Remove ${copy.name}?`}
        action="Remove"
        run={remove}
      >
        What was changed in it and not merged is gone with it. The workspace it is a copy of stays as it is.
      </Confirm>
    </Row>
  )
}

function Changes({ copy }: { copy: string }) {
  const changes = useAsk('workspaces.diff', { copy }, { staleTime: 0 })
  if (changes.isPending) return <LoadingRows count={3} height={22} />
  if (changes.error) return <ErrorState problem={changes.error} retry={() => void changes.refetch()} />
  const files = changes.data.files ?? []
  if (files.length === 0) return <Quiet>Nothing was changed in it since it was made or last merged.</Quiet>
  const [known, ignored] = apart(files, (file) => file)
  return (
    <>
      {known.length > 0 && <Changed files={known} label="What it changed" />}
      <IgnoredFiles files={ignored}>
        <Changed files={ignored} label="What it changed in files that git ignores" />
      </IgnoredFiles>
    </>
  )
}

function Changed({ files, label }: { files: ChangedFile[]; label: string }) {
  const [shown, setShown] = useState('')
  return (
    <ul className="copy-changes" aria-label={label}>
      {files.map((file) => (
        <li key={file.path}>
          <button
            type="button"
            className="copy-change"
            aria-expanded={shown === file.path}
            onClick={() => setShown(shown === file.path ? '' : file.path)}
          >
            <span className="mono">{file.status}</span>
            <span className="mono cut">{file.path}</span>
            <Churn added={file.added} removed={file.removed} />
          </button>
          {shown === file.path &&
            (file.patch ? (
              <Diff patch={file.patch} label={`Changes in ${file.path}`} />
            ) : (
              <p className="dim">No text.</p>
            ))}
        </li>
      ))}
    </ul>
  )
}
