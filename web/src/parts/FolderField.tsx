import { ActionIcon, Button, TextInput } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { IconArrowUp, IconBrandGit, IconFolder, IconHome } from '@tabler/icons-react'
import { useEffect, useState } from 'react'
import { messageOf, useAsk } from '@/lib/ask'
import { folderName } from '@/lib/format'
import type { Folder, Folders } from '@/protocol/types'
import './folder-field.css'
import { LoadingRows } from './states'
import { Tip } from './Tip'

/** `~` stands for the home of whoever runs the daemon. */
export function whole(path: string, home: string): string {
  const typed = path.trim()
  return home && (typed === '~' || typed.startsWith('~/')) ? home + typed.slice(1) : typed
}

/** A folder of the daemon's machine: typed, or chosen. What is wrong with it is said here, before anything is sent. */
export function FolderField(props: {
  label: string
  description?: string
  value: string
  change: (path: string) => void
  recent: string[]
  /** What the daemon said of it when it was used. */
  problem?: string
}) {
  const { value, change } = props
  const [browsing, setBrowsing] = useState(props.recent.length === 0)
  const [settled] = useDebouncedValue(value, 250)
  const home = useAsk('folders.list', {}, { staleTime: 60_000 })
  const cwd = whole(settled, home.data?.home ?? '')
  const here = useAsk('folders.list', { cwd }, { enabled: cwd.startsWith('/'), staleTime: 5000 })
  const wrong = wrongWith(settled, value === settled && here.error ? messageOf(here.error) : '')
  const listed = cwd.startsWith('/') ? here.data : home.data
  // What is typed while the list is open moves it; a wrong path leaves it where it was.
  const [shown, setShown] = useState<Folders | undefined>()
  useEffect(() => {
    if (listed) setShown(listed)
  }, [listed])
  return (
    <div className="folder-field">
      <TextInput
        label={props.label}
        description={props.description ?? 'Where the agent works, on the daemon’s machine.'}
        placeholder="~/code/project"
        value={value}
        onChange={(event) => change(event.currentTarget.value)}
        onFocus={(event) => event.currentTarget.select()}
        error={wrong || props.problem || undefined}
        classNames={{ input: 'mono' }}
        rightSectionWidth={84}
        rightSection={
          <Button size="compact-xs" variant="subtle" aria-expanded={browsing} onClick={() => setBrowsing(!browsing)}>
            {browsing ? 'Close' : 'Browse'}
          </Button>
        }
        spellCheck={false}
        autoComplete="off"
        required
        data-autofocus
      />
      {props.recent.length > 0 && <Recent folders={props.recent} value={value} change={change} />}
      {browsing && (shown ? <Browser at={shown} change={change} /> : <LoadingRows count={1} height={120} />)}
    </div>
  )
}

function wrongWith(typed: string, said: string): string {
  if (!typed.trim()) return ''
  if (!/^[/~]/.test(typed.trim())) return 'Give the whole path: it begins with / or ~.'
  return said
}

const MOST_RECENT = 6

function Recent({ folders, value, change }: { folders: string[]; value: string; change: (path: string) => void }) {
  return (
    <ul className="folder-recent" aria-label="Recent folders">
      {folders.slice(0, MOST_RECENT).map((path) => (
        <li key={path}>
          <button type="button" aria-pressed={path === value} title={path} onClick={() => change(path)}>
            {folderName(path)}
          </button>
        </li>
      ))}
    </ul>
  )
}

function Browser({ at, change }: { at: Folders; change: (path: string) => void }) {
  const folders = at.folders ?? []
  return (
    <section className="folder-browser" aria-label="Folders">
      <header>
        <Tip label="Home">
          <ActionIcon variant="subtle" color="gray" aria-label="To the home folder" onClick={() => change(at.home)}>
            <IconHome size={16} />
          </ActionIcon>
        </Tip>
        <Tip label="Up">
          <ActionIcon
            variant="subtle"
            color="gray"
            aria-label="One folder up"
            disabled={!at.parent}
            onClick={() => change(at.parent ?? '')}
          >
            <IconArrowUp size={16} />
          </ActionIcon>
        </Tip>
        <span className="mono cut" title={at.path}>
          {at.path}
        </span>
      </header>
      {folders.length === 0 ? (
        <p className="dim">There are no folders in it.</p>
      ) : (
        <ul>
          {folders.map((folder) => (
            <Entry key={folder.path} folder={folder} choose={() => change(folder.path)} />
          ))}
          {at.left_out ? <li className="dim folder-more">and {at.left_out} more: type the path</li> : null}
        </ul>
      )}
    </section>
  )
}

function Entry({ folder, choose }: { folder: Folder; choose: () => void }) {
  return (
    <li>
      <button type="button" onClick={choose}>
        {folder.repository ? <IconBrandGit size={15} aria-hidden /> : <IconFolder size={15} aria-hidden />}
        <span className="cut">{folder.name}</span>
        {folder.repository && <span className="folder-kind">repository</span>}
      </button>
    </li>
  )
}
