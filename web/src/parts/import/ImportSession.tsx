import { Button, FileButton } from '@mantine/core'
import { IconFileImport } from '@tabler/icons-react'
import { useNavigate } from '@tanstack/react-router'
import { type DragEvent, useState } from 'react'
import { messageOf, useAsk } from '@/lib/ask'
import { exactTime, firstLine } from '@/lib/format'
import { tell } from '@/lib/tell'
import { Dialog } from '@/parts/Dialog'
import { FolderField, whole } from '@/parts/FolderField'
import { Form, Problem } from '@/parts/Form'
import { useFolders } from '@/parts/Project'
import { LoadingRows } from '@/parts/states'
import type { Message } from '@/protocol/types'
import { useShell } from '@/shell/shell-state'
import { daemon } from '@/state/daemon'
import { type Exported, importOf, readExport } from './exported'
import './import.css'
import '@/parts/listing.css'

/** Brings a session that was taken along from elsewhere: as a file, chosen or dropped. */
export default function ImportSession() {
  const close = () => useShell.setState({ importing: false })
  const [found, setFound] = useState<Exported | null>(null)
  return (
    <Dialog onClose={close} title="Import a session" size="lg">
      {found ? (
        <Import found={found} back={() => setFound(null)} done={close} />
      ) : (
        <ChooseFile take={setFound} leave={close} />
      )}
    </Dialog>
  )
}

function ChooseFile({ take, leave }: { take: (found: Exported) => void; leave: () => void }) {
  const [problem, setProblem] = useState('')
  const [over, setOver] = useState(false)
  const read = async (file: File | null | undefined) => {
    if (!file) return
    try {
      take(readExport(file.name, await file.text()))
    } catch (wrong) {
      setProblem(messageOf(wrong))
    }
  }
  const dropped = (event: DragEvent) => {
    event.preventDefault()
    setOver(false)
    void read(event.dataTransfer.files[0])
  }
  return (
    <div className="form">
      <section
        className={over ? 'import-drop import-over' : 'import-drop'}
        aria-label="The file"
        onDragOver={(event) => {
          event.preventDefault()
          setOver(true)
        }}
        onDragLeave={() => setOver(false)}
        onDrop={dropped}
      >
        <IconFileImport size={28} stroke={1.4} aria-hidden />
        <p>
          Drop a session’s file here: what “All of it (JSON)” in a session’s menu wrote, or{' '}
          <code>openagent sessions export</code>.
        </p>
        <FileButton onChange={(file) => void read(file)} accept="application/json,.json">
          {(button) => (
            <Button {...button} variant="default" data-autofocus>
              Choose a file
            </Button>
          )}
        </FileButton>
      </section>
      <Problem text={problem} />
      <div className="form-actions">
        <Button variant="default" onClick={leave}>
          Cancel
        </Button>
      </div>
    </div>
  )
}

/** What the file holds, and where it goes on. */
function Import({ found, back, done }: { found: Exported; back: () => void; done: () => void }) {
  const there = useAsk('folders.list', { cwd: found.session.cwd }, { retry: false, staleTime: 60_000 })
  if (there.isPending) return <LoadingRows count={4} height={48} />
  return <Where found={found} own={there.data ? found.session.cwd : ''} back={back} done={done} />
}

function Where(props: { found: Exported; own: string; back: () => void; done: () => void }) {
  const { found, own } = props
  const navigate = useNavigate()
  const recent = useFolders()
  const home = useAsk('folders.list', {}, { staleTime: 60_000 })
  const [folder, setFolder] = useState(own || recent[0] || '')
  const cwd = whole(folder, home.data?.home ?? '')
  const bring = async (again: boolean) => {
    const { info, was_here: wasHere } = await daemon.request('session.import', { cwd, ...importOf(found), again })
    props.done()
    void navigate({ to: '/sessions/$id', params: { id: info.id } })
    if (wasHere)
      tell({
        tone: 'plain',
        title: 'It was here already',
        text: 'The same conversation was imported before: this is it.',
        action: { label: 'Make another', run: () => void bring(true) },
      })
  }
  return (
    <Form work={() => bring(false)} action="Import" ready={cwd !== ''} leave={props.back} back>
      <Summary found={found} />
      <FolderField
        label="Goes on in"
        description={
          own
            ? 'The folder it was in, which is here too.'
            : `It was in ${found.session.cwd}, which is not here: choose where it goes on.`
        }
        value={folder}
        change={setFolder}
        recent={recent}
      />
    </Form>
  )
}

function Summary({ found: { session, messages } }: { found: Exported }) {
  const turns = messages.at(-1)?.turn ?? 0
  const said = messages.map(textOf).find(Boolean)
  return (
    <section className="panel import-summary" aria-label="What the file holds">
      <strong>{session.name || 'Unnamed session'}</strong>
      <span className="dim">
        <span className="mono">{messages.length}</span> message{messages.length === 1 ? '' : 's'} in{' '}
        <span className="mono">{turns}</span> turn{turns === 1 ? '' : 's'} · begun {exactTime(session.created_at)}
      </span>
      {said && <q>{firstLine(said)}</q>}
    </section>
  )
}

function textOf({ role, parts }: Message): string {
  if (role !== 'user') return ''
  return parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n')
}
