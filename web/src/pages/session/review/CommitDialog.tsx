import { Button, Checkbox, Textarea, TextInput } from '@mantine/core'
import { useState } from 'react'
import { act } from '@/lib/ask'
import { tell } from '@/lib/tell'
import { Dialog } from '@/parts/Dialog'
import { RunsOutside } from '@/parts/RunsOutside'
import type { RepositoryFile, RepositoryState } from '@/protocol/types'

interface Props {
  session: string
  state: RepositoryState
  again: () => void
  close: () => void
}

/** What the session changed is chosen; what else is there can be chosen too. */
export default function CommitDialog(props: Props) {
  return (
    <Dialog onClose={props.close} title="Commit" size="lg">
      <Form {...props} />
    </Dialog>
  )
}

function Form({ session, state, again, close }: Props) {
  const files = state.files ?? []
  const [message, setMessage] = useState(state.message ?? '')
  const [branch, setBranch] = useState('')
  const [chosen, setChosen] = useState(files.filter(({ own }) => own).map(({ path }) => path))
  const [busy, setBusy] = useState(false)
  const commit = async () => {
    setBusy(true)
    const ready = !branch.trim() || (await act('git.branch', { session, name: branch.trim() }))
    const done = ready && (await act('git.commit', { session, message, paths: chosen }))
    setBusy(false)
    again()
    if (!done) return
    const count = `${done.files} ${done.files === 1 ? 'file' : 'files'}`
    tell({ tone: 'plain', title: `Committed ${done.commit}`, text: `${count} on ${done.branch}: ${done.subject}` })
    close()
  }
  return (
    <form
      className="review-form"
      onSubmit={(event) => {
        event.preventDefault()
        void commit()
      }}
    >
      <Textarea
        label="Message"
        description="The first line is the subject."
        autosize
        minRows={3}
        value={message}
        onChange={(event) => setMessage(event.currentTarget.value)}
        data-autofocus
      />
      <TextInput
        label="New branch"
        description={`Leave it empty to commit on ${state.branch}.`}
        placeholder={state.branch}
        value={branch}
        onChange={(event) => setBranch(event.currentTarget.value)}
      />
      <Checkbox.Group value={chosen} onChange={setChosen} label={`Files: ${chosen.length} of ${files.length}`}>
        <div className="review-choose">
          <Some title="Changed by this session" files={files.filter(({ own }) => own)} />
          <Some title="Changed by others" files={files.filter(({ own }) => !own)} />
        </div>
      </Checkbox.Group>
      {(state.hooks ?? []).length > 0 && (
        <p className="dim">
          The repository’s hooks do not run here: {state.hooks?.join(', ')}. Run them in a terminal where they matter.
        </p>
      )}
      <div className="dialog-actions">
        <Button variant="default" onClick={close}>
          Cancel
        </Button>
        <Button type="submit" loading={busy} disabled={!message.trim() || chosen.length === 0}>
          Commit
        </Button>
      </div>
    </form>
  )
}

function Some({ title, files }: { title: string; files: RepositoryFile[] }) {
  if (files.length === 0) return null
  return (
    <section aria-label={title}>
      <h3>{title}</h3>
      {files.map(({ path, status, staged, runs_outside: outside }) => (
        <Checkbox
          key={path}
          size="xs"
          value={path}
          label={
            <span className="mono">
              <span className={`change-${status}`}>{status}</span> {path}
              {staged && <span className="dim"> staged</span>} <RunsOutside reason={outside} />
            </span>
          }
        />
      ))}
    </section>
  )
}
