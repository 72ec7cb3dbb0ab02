import { ActionIcon, TextInput } from '@mantine/core'
import {
  IconChevronRight,
  IconFile,
  IconFilePlus,
  IconFileSearch,
  IconLink,
  IconPhoto,
  IconRefresh,
} from '@tabler/icons-react'
import { useQueryClient } from '@tanstack/react-query'
import { createContext, type KeyboardEvent, useContext, useEffect, useState } from 'react'
import { act, useAsk } from '@/lib/ask'
import { Tip } from '@/parts/Tip'
import type { FileEntry } from '@/protocol/types'
import { MarkView } from './files/MarkView'
import { type Mark, useMarks } from './files/marks'
import { openQuickly } from './split/quick-open-state'

interface Props {
  session: string
  opened: string
  open: (path: string) => void
}

const NO_MARKS = { marks: new Map<string, Mark>(), folders: new Map<string, Mark>() }
const Marks = createContext(NO_MARKS)

/** Folders that were opened or closed by hand, by session: the tree is as it was left. */
const folded = new Map<string, boolean>()

/** What version control and desktops keep for themselves: nobody opens it here, as in any editor. */
const KEPT_BY_TOOLS = new Set(['.git', '.hg', '.svn', '.DS_Store'])

const ACTIONS = [
  { what: 'Open by name', Icon: IconFileSearch },
  { what: 'New file', Icon: IconFilePlus },
  { what: 'Read again', Icon: IconRefresh },
] as const

export function FileTree({ session, opened, open }: Props) {
  const queries = useQueryClient()
  const marks = useMarks(session)
  const [naming, setNaming] = useState(false)
  const refresh = () => queries.invalidateQueries({ queryKey: ['files.list'] })
  const create = async (path: string) => {
    setNaming(false)
    if (!(await act('files.write', { session, path, text: '', version: '' }))) return
    await refresh()
    open(path)
  }
  const run = { 'Open by name': openQuickly, 'New file': () => setNaming(true), 'Read again': () => void refresh() }
  return (
    <nav className="tree" aria-label="Files">
      <header>
        <h2>Files</h2>
        {ACTIONS.map(({ what, Icon }) => (
          <Tip key={what} label={what}>
            <ActionIcon size="sm" variant="subtle" color="gray" aria-label={what} onClick={run[what]}>
              <Icon size={15} />
            </ActionIcon>
          </Tip>
        ))}
      </header>
      {naming && <NewFile create={(path) => void create(path)} close={() => setNaming(false)} />}
      <Unsaved marks={marks.marks} opened={opened} open={open} />
      <Marks value={marks}>
        <div role="tree" aria-label="Files" onKeyDown={moveFocus}>
          <Directory session={session} path="." depth={0} opened={opened} open={open} />
        </div>
      </Marks>
    </nav>
  )
}

/** Edits that are not saved, wherever they lie: nobody has to remember them. */
function Unsaved({ marks, opened, open }: { marks: Map<string, Mark>; opened: string; open: (path: string) => void }) {
  const paths = [...marks].filter(([path, mark]) => mark.unsaved && path !== opened).map(([path]) => path)
  if (paths.length === 0) return null
  return (
    <section className="tree-unsaved" aria-label="Not saved">
      <h3>Not saved</h3>
      {paths.map((path) => (
        <button key={path} type="button" className="tree-item" title={path} onClick={() => open(path)}>
          <span className="mark-unsaved" aria-hidden />
          <span className="cut">{path}</span>
        </button>
      ))}
    </section>
  )
}

/** A new file's path, asked for in the tree. */
function NewFile({ create, close }: { create: (path: string) => void; close: () => void }) {
  const [path, setPath] = useState('')
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        if (path.trim()) create(path.trim())
      }}
    >
      <TextInput
        size="xs"
        aria-label="Path of the new file"
        placeholder="src/new.py"
        value={path}
        onChange={(event) => setPath(event.currentTarget.value)}
        onBlur={close}
        onKeyDown={(event) => {
          if (event.key === 'Escape') close()
        }}
        autoFocus
      />
    </form>
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
  const entries = (listed.data?.entries ?? []).filter(({ name }) => !KEPT_BY_TOOLS.has(name))
  return (
    <>
      {entries.map((entry) =>
        entry.kind === 'directory' ? (
          <Folder key={entry.path} session={session} entry={entry} depth={depth} opened={opened} open={open} />
        ) : (
          <File key={entry.path} entry={entry} depth={depth} opened={opened} open={open} />
        ),
      )}
      {listed.data && entries.length === 0 && depth === 0 && <p className="dim tree-problem">The folder is empty.</p>}
      {(listed.data?.left_out ?? 0) > 0 && <p className="dim tree-problem">and {listed.data?.left_out} more</p>}
    </>
  )
}

function iconOf({ kind, name }: FileEntry) {
  if (kind === 'link') return IconLink
  return /\.(png|jpe?g|gif|webp|svg)$/i.test(name) ? IconPhoto : IconFile
}

function File({ entry, depth, opened, open }: Omit<Props, 'session'> & { entry: FileEntry; depth: number }) {
  const mark = useContext(Marks).marks.get(entry.path)
  const Icon = iconOf(entry)
  return (
    <button
      type="button"
      role="treeitem"
      aria-selected={entry.path === opened}
      tabIndex={0}
      className="tree-item"
      style={{ paddingLeft: 8 + depth * 14 }}
      onClick={() => open(entry.path)}
    >
      <Icon size={14} />
      <span className="cut">{entry.name}</span>
      <MarkView mark={mark} />
    </button>
  )
}

function Folder({ session, entry, depth, opened, open }: Props & { entry: FileEntry; depth: number }) {
  const holdsOpened = opened.startsWith(`${entry.path}/`)
  const place = `${session}/${entry.path}`
  const [expanded, setExpanded] = useState(holdsOpened || (folded.get(place) ?? false))
  const fold = () => {
    folded.set(place, !expanded)
    setExpanded(!expanded)
  }
  const mark = useContext(Marks).folders.get(entry.path)
  useEffect(() => {
    if (holdsOpened) setExpanded(true)
  }, [holdsOpened])
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
        onClick={fold}
      >
        <IconChevronRight size={14} className={expanded ? 'tool-chevron tool-chevron-open' : 'tool-chevron'} />
        <span className="cut">{entry.name}</span>
        {!expanded && <MarkView mark={mark} folder />}
      </button>
      {expanded && <Directory session={session} path={entry.path} depth={depth + 1} opened={opened} open={open} />}
    </>
  )
}
