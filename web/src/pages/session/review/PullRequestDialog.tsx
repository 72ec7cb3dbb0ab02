import { Anchor, Button, Checkbox, Textarea, TextInput } from '@mantine/core'
import { useState } from 'react'
import { act } from '@/lib/ask'
import { Dialog } from '@/parts/Dialog'
import { AllRunningOutside } from '@/parts/RunsOutside'
import { safeAddress } from '@/parts/safe-address'
import type { RepositoryState } from '@/protocol/types'

interface Props {
  session: string
  state: RepositoryState
  again: () => void
  close: () => void
}

/** Pushes the branch and has the forge's own program open the request. */
export default function PullRequestDialog(props: Props) {
  return (
    <Dialog onClose={props.close} title="Open a pull request" size="lg">
      <Form {...props} />
    </Dialog>
  )
}

function Form({ session, state, again, close }: Props) {
  const onBase = state.branch === state.base
  const [title, setTitle] = useState(state.message ?? '')
  const [body, setBody] = useState('')
  const [base, setBase] = useState(state.base ?? '')
  const [branch, setBranch] = useState('')
  const [draft, setDraft] = useState(false)
  const [busy, setBusy] = useState(false)
  const [opened, setOpened] = useState<string | null>(null)
  const open = async () => {
    setBusy(true)
    const ready = !branch.trim() || (await act('git.branch', { session, name: branch.trim() }))
    const done = ready && (await act('git.pull_request', { session, title, body, base, draft }))
    setBusy(false)
    again()
    if (done) setOpened(done.url ?? '')
  }
  if (opened !== null) return <Opened url={opened} close={close} />
  const uncommitted = (state.files ?? []).filter(({ own }) => own).length
  return (
    <form
      className="review-form"
      onSubmit={(event) => {
        event.preventDefault()
        void open()
      }}
    >
      <p className="dim">
        <span className="mono">{branch.trim() || state.branch}</span> is pushed to{' '}
        <span className="mono">{state.remote}</span>, then <span className="mono">{state.forge}</span> opens it.
        {uncommitted > 0 && ` ${uncommitted} of this session’s files are not committed, and are not part of it.`}
      </p>
      <AllRunningOutside files={state.runs_outside} />
      {onBase && (
        <TextInput
          label="New branch"
          description={`You are on ${state.base} itself: the request needs a branch of its own.`}
          value={branch}
          onChange={(event) => setBranch(event.currentTarget.value)}
          required
          data-autofocus
        />
      )}
      <TextInput
        label="Title"
        value={title}
        onChange={(event) => setTitle(event.currentTarget.value)}
        data-autofocus={!onBase || undefined}
      />
      <Textarea
        label="Description"
        autosize
        minRows={4}
        value={body}
        onChange={(event) => setBody(event.currentTarget.value)}
      />
      <TextInput
        label="Into"
        placeholder="the forge’s own choice"
        value={base}
        onChange={(event) => setBase(event.currentTarget.value)}
      />
      <Checkbox label="Draft" checked={draft} onChange={(event) => setDraft(event.currentTarget.checked)} />
      <div className="dialog-actions">
        <Button variant="default" onClick={close}>
          Cancel
        </Button>
        <Button type="submit" loading={busy} disabled={!title.trim() || (onBase && !branch.trim())}>
          Push and open
        </Button>
      </div>
    </form>
  )
}

function Opened({ url, close }: { url: string; close: () => void }) {
  const address = safeAddress(url)
  return (
    <div className="review-form">
      <p>
        The pull request is open
        {address ? (
          <>
            :{' '}
            <Anchor href={address} target="_blank" rel="noreferrer">
              {url}
            </Anchor>
          </>
        ) : (
          '.'
        )}
      </p>
      <div className="dialog-actions">
        <Button onClick={close} data-autofocus>
          Done
        </Button>
      </div>
    </div>
  )
}
