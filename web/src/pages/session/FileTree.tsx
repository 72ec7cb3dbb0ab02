import { ActionIcon } from '@mantine/core'
import { IconChevronRight, IconFile, IconFilePlus, IconLink, IconRefresh } from '@tabler/icons-react'
import { useQueryClient } from '@tanstack/react-query'
import { type KeyboardEvent, useState } from 'react'
import { act, useAsk } from '@/lib/ask'
import { Tip } from '@/parts/Tip'
import type { FileEntry } from '@/protocol/types'
import { NewFile } from './FilesTab'

interface Props {
  session: string
  opened: string
  open: (path: string) => void
}

export function FileTree({ session, opened, open }: Props) {
  const queries = useQueryClient()
  const [naming, setNaming] = useState(false)
  const refresh = () => queries.invalidateQueries({ queryKey: ['files.list'] })
  const create = async (path: string) => {
    setNaming(false)
    if (!(await act('files.write', { session, path, text: '', version: '' }))) return
    await refresh()
    open(path)
  }
  return (
    <nav className="tree" aria-label="Files">
      <header>
        <h2>Files</h2>
        <Tip label="New file">
          <ActionIcon size="sm" variant="subtle" color="gray" aria-label="New file" onClick={() => setNaming(true)}>
            <IconFilePlus size={15} />
          </ActionIcon>
        </Tip>
        <Tip label="Read again">
          <ActionIcon size="sm" variant="subtle" color="gray" aria-label="Read again" onClick={() => void refresh()}>
            <IconRefresh size={15} />
          </ActionIcon>
        </Tip>
      </header>
      {naming && <NewFile create={(path) => void create(path)} close={() => setNaming(false)} />}
      <div role="tree" aria-label="Files" onKeyDown={moveFocus}>
        <Directory session={session} path="." depth={0} opened={opened} open={open} />
      </div>
    </nav>
  )
}

/** Arrow keys walk the tree, as they do in an editor's. */
function moveFocus(event: KeyboardEvent<HTMLDivElement>): void {
  const items = [...event.currentTarget.querySelectorAll<HTMLElement>('[role="treeitem"]')]
  const here = items.indexOf(document.activeElement as HTMLElement)
  const item = items[here]
  if (!item) return
  const expanded = item.getAttribute('aria-expanded')
  if (event.key === 'ArrowDown') items[here + 1]?.focus()
  else if (event.key === 'ArrowUp') items[here - 1]?.focus()
  else if (event.key === 'ArrowRight' && expanded === 'false') item.click()
  else if (event.key === 'ArrowLeft' && expanded === 'true') item.click()
  else return
  event.preventDefault()
}

function Directory({ session, path, depth, opened, open }: Props & { path: string; depth: number }) {
  const listed = useAsk('files.list', { session, path }, { staleTime: 0 })
  if (listed.error) return <p className="tree-problem">{listed.error.message}</p>
  const entries = listed.data?.entries ?? []
  return (
    <>
      {entries.map((entry) =>
        entry.kind === 'directory' ? (
          <Folder key={entry.path} session={session} entry={entry} depth={depth} opened={opened} open={open} />
        ) : (
          <button
            key={entry.path}
            type="button"
            role="treeitem"
            aria-selected={entry.path === opened}
            tabIndex={0}
            className="tree-item"
            style={{ paddingLeft: 8 + depth * 14 }}
            onClick={() => open(entry.path)}
          >
            {entry.kind === 'link' ? <IconLink size={14} /> : <IconFile size={14} />}
            <span className="cut">{entry.name}</span>
          </button>
        ),
      )}
      {listed.data && entries.length === 0 && depth === 0 && <p className="dim tree-problem">The folder is empty.</p>}
      {(listed.data?.left_out ?? 0) > 0 && <p className="dim tree-problem">and {listed.data?.left_out} more</p>}
    </>
  )
}

function Folder({ session, entry, depth, opened, open }: Props & { entry: FileEntry; depth: number }) {
  const [expanded, setExpanded] = useState(opened.startsWith(`${entry.path}/`))
  return (
    <>
      <button
        type="button"
        role="treeitem"
        aria-expanded={expanded}
        aria-selected={false}
        tabIndex={0}
        className="tree-item"
        style={{ paddingLeft: 8 + depth * 14 }}
        onClick={() => setExpanded(!expanded)}
      >
        <IconChevronRight size={14} className={expanded ? 'tool-chevron tool-chevron-open' : 'tool-chevron'} />
        <span className="cut">{entry.name}</span>
      </button>
      {expanded && <Directory session={session} path={entry.path} depth={depth + 1} opened={opened} open={open} />}
    </>
  )
}
