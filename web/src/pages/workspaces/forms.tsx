import { TextInput } from '@mantine/core'
import { useState } from 'react'
import { folderName } from '@/lib/format'
import { useRenew } from '@/lib/live'
import { tell } from '@/lib/tell'
import { Form } from '@/parts/Form'
import type { WorkspaceBackup } from '@/protocol/types'
import { daemon } from '@/state/daemon'

function Path(props: {
  label: string
  about?: string
  value: string
  change: (value: string) => void
  first?: boolean
}) {
  return (
    <TextInput
      label={props.label}
      description={props.about ?? "An absolute path on the daemon's machine."}
      value={props.value}
      onChange={(event) => props.change(event.currentTarget.value)}
      classNames={{ input: 'mono' }}
      required
      data-autofocus={props.first || undefined}
    />
  )
}

const isPath = (text: string) => text.trim().startsWith('/')

export function NewCopy({ cwd, done }: { cwd: string; done: () => void }) {
  const renew = useRenew('workspaces.list')
  const [folder, setFolder] = useState(cwd)
  const [name, setName] = useState('')
  const make = async () => {
    await daemon.request('workspaces.create', { cwd: folder.trim(), name: name.trim() })
    await renew()
    done()
  }
  return (
    <Form work={make} action="Copy" ready={isPath(folder) && name.trim() !== ''} leave={done}>
      <Path label="Workspace" value={folder} change={setFolder} />
      <TextInput
        label="Name"
        description="Small letters, digits and -."
        placeholder="try-the-other-way"
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
        required
        data-autofocus
      />
    </Form>
  )
}

function told({ files, left_out: left = [] }: WorkspaceBackup, title: string): void {
  const text = left.length > 0 ? `${files} files. Left out: ${left.join('; ')}` : `${files} files.`
  tell({ tone: left.length > 0 ? 'warn' : 'plain', title, text })
}

export function Backup({ cwd, done }: { cwd: string; done: () => void }) {
  const [folder, setFolder] = useState(cwd)
  const [archive, setArchive] = useState(cwd ? `${cwd.slice(0, cwd.lastIndexOf('/'))}/${folderName(cwd)}.tar.gz` : '')
  const pack = async () => {
    told(await daemon.request('workspaces.backup', { cwd: folder.trim(), archive: archive.trim() }), 'Packed')
    done()
  }
  return (
    <Form work={pack} action="Pack" ready={isPath(folder) && isPath(archive)} leave={done}>
      <Path label="Workspace" value={folder} change={setFolder} />
      <Path
        label="Archive"
        about="The file to write, on the daemon's machine."
        value={archive}
        change={setArchive}
        first
      />
    </Form>
  )
}

export function Restore({ done }: { done: () => void }) {
  const [archive, setArchive] = useState('')
  const [to, setTo] = useState('')
  const unpack = async () => {
    told(await daemon.request('workspaces.restore', { archive: archive.trim(), to: to.trim() }), 'Unpacked')
    done()
  }
  return (
    <Form work={unpack} action="Unpack" ready={isPath(archive) && isPath(to)} leave={done}>
      <Path label="Archive" value={archive} change={setArchive} first />
      <Path label="Folder" about="One that does not exist yet, or is empty." value={to} change={setTo} />
    </Form>
  )
}
