import { Button, Checkbox, Select } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { act } from '@/lib/ask'
import { apart, countWords } from '@/lib/ignored'
import { Dialog } from '@/parts/Dialog'
import { Churn, Diff } from '@/parts/Diff'
import { IgnoredFiles } from '@/parts/IgnoredFiles'
import { RunsOutside } from '@/parts/RunsOutside'
import { LoadingRows } from '@/parts/states'
import type { ChangedFile, LeftAlone } from '@/protocol/types'
import type { Conversation } from '@/state/conversation'
import { daemon } from '@/state/daemon'
import { askedIn } from './asked'
import { changeNotes } from './changeNotes'
import { tellRewound } from './rewound'
import './rewind.css'

interface Props {
  conversation: Conversation
  turn: number
  choose: (turn: number) => void
  close: () => void
}

/** Back to before a turn: what that takes away is shown before anything happens. */
export default function Rewind(props: Props) {
  return (
    <Dialog onClose={props.close} title="Rewind" size="xl">
      <Form {...props} />
    </Dialog>
  )
}

function Form({ conversation, turn, choose, close }: Props) {
  const { info } = conversation
  const [files, setFiles] = useState(true)
  const [talk, setTalk] = useState(false)
  const [spared, setSpared] = useState<ReadonlySet<string>>(new Set())
  const [busy, setBusy] = useState(false)
  const [left, setLeft] = useState<LeftAlone[]>([])
  const changes = useQuery({
    queryKey: ['rewind-preview', info.id, turn, info.turn_count, conversation.changedAt],
    queryFn: () => daemon.request('session.changes', { session: info.id, turn, since: true }),
  })
  const found = changes.data?.files ?? []
  const [known, ignored] = apart(found, (file) => file)
  const chosen = found.filter(({ path }) => !spared.has(path))
  const spare = (path: string) => {
    const next = new Set(spared)
    if (!next.delete(path)) next.add(path)
    setSpared(next)
  }
  const row = (file: ChangedFile) => (
    <Change
      key={file.path}
      file={file}
      chosen={!spared.has(file.path)}
      choose={found.length > 1 ? () => spare(file.path) : undefined}
    />
  )
  const rewind = async () => {
    setBusy(true)
    const some = chosen.length < found.length
    const done = await act('session.undo', {
      session: info.id,
      turn,
      files: files && !(some && chosen.length === 0),
      conversation: talk,
      paths: files && some ? chosen.flatMap(pathsOf) : [],
    })
    setBusy(false)
    if (!done) return
    if (done.others?.length) setLeft(done.others)
    else close()
    tellRewound(info.id, turn, files ? chosen : [], done)
  }
  if (left.length > 0) return <Left session={info.id} turn={turn} left={left} close={close} />
  return (
    <div className="rewind">
      <Select
        label="To before"
        allowDeselect={false}
        value={String(turn)}
        onChange={(value) => value && choose(Number(value))}
        data={turnsOf(conversation)}
      />
      <div className="rewind-what">
        <Checkbox label="Files" checked={files} onChange={(event) => setFiles(event.currentTarget.checked)} />
        <Checkbox
          label="Conversation: the model forgets what came since"
          checked={talk}
          onChange={(event) => setTalk(event.currentTarget.checked)}
        />
      </div>
      {files && (
        <section className="rewind-files" aria-label="What is taken back">
          {changes.isLoading ? (
            <LoadingRows count={3} height={28} />
          ) : changes.error ? (
            <p className="dim">{changes.error.message}</p>
          ) : found.length === 0 ? (
            <p className="dim">No file was changed since, so none changes now.</p>
          ) : (
            <>
              <p className="dim">
                {countWords(chosen)} {chosen.length === 1 ? 'goes' : 'go'} back
                {chosen.length < found.length ? ', the others stay:' : ':'}
              </p>
              {known.map(row)}
              <IgnoredFiles files={ignored}>{ignored.map(row)}</IgnoredFiles>
            </>
          )}
        </section>
      )}
      <p className="dim">
        Only what this session wrote is undone. Nothing is lost: messages stay readable, and you can redo all of it.
      </p>
      <div className="dialog-actions">
        <Button variant="default" onClick={close}>
          Cancel
        </Button>
        <Button
          loading={busy}
          // Not while the files are looked up: a button that is disabled cannot take the focus.
          disabled={!talk && !(files && (changes.isLoading || chosen.length > 0))}
          onClick={() => !changes.isLoading && void rewind()}
          data-autofocus
        >
          Rewind
        </Button>
      </div>
    </div>
  )
}

/** What others changed since: it stays, unless somebody chooses otherwise. */
function Left({ session, turn, left, close }: { session: string; turn: number; left: LeftAlone[]; close: () => void }) {
  const [chosen, setChosen] = useState<string[]>([])
  const [busy, setBusy] = useState(false)
  const overwrite = async () => {
    setBusy(true)
    const done = await act('session.undo', { session, turn, others: 'overwrite', paths: chosen })
    setBusy(false)
    if (done) close()
  }
  return (
    <div className="rewind">
      <p>The rest is back to before turn {turn}. These were left as they are:</p>
      <Checkbox.Group value={chosen} onChange={setChosen} label="Take back too, with what others did to them">
        <section className="rewind-files rewind-left">
          {left.map(({ path, reason }) => (
            <Checkbox key={path} value={path} label={path} description={reason} />
          ))}
        </section>
      </Checkbox.Group>
      <div className="dialog-actions">
        <Button variant="default" onClick={close} data-autofocus>
          Leave them
        </Button>
        <Button loading={busy} disabled={chosen.length === 0} onClick={() => void overwrite()}>
          Take back
        </Button>
      </div>
    </div>
  )
}

/** A renamed file goes back to its old name, so both names are meant. */
function pathsOf({ path, old_path: old }: ChangedFile): string[] {
  return old ? [path, old] : [path]
}

function Change({ file, chosen, choose }: { file: ChangedFile; chosen: boolean; choose?: () => void }) {
  const [open, setOpen] = useState(false)
  return (
    <div className="rewind-file">
      <div className="rewind-head">
        {choose && <Checkbox size="xs" aria-label={`Undo ${file.path}`} checked={chosen} onChange={choose} />}
        <button type="button" aria-expanded={open} onClick={() => setOpen(!open)}>
          <span className={`mono change-${file.status}`}>{file.status}</span>
          <span className="mono cut">{file.path}</span>
          <span className="dim">{changeNotes(file).join(', ')}</span>
          <RunsOutside reason={file.runs_outside} />
          <Churn added={file.added} removed={file.removed} />
        </button>
      </div>
      {open &&
        (file.binary ? (
          <p className="dim">Not a text.</p>
        ) : (
          <Diff patch={file.patch ?? ''} label={file.path} path={file.path} />
        ))}
    </div>
  )
}

function turnsOf(conversation: Conversation): { value: string; label: string }[] {
  const count = conversation.info.turn_count ?? 0
  const asked = askedIn(conversation)
  return Array.from({ length: count }, (_, index) => count - index).map((turn) => ({
    value: String(turn),
    label: asked.has(turn) ? `turn ${turn}: ${asked.get(turn)?.slice(0, 80)}` : `turn ${turn}`,
  }))
}
