import { Button, Textarea } from '@mantine/core'
import { useState } from 'react'
import { act } from '@/lib/ask'
import { Choice } from '@/parts/Choice'
import { Dialog } from '@/parts/Dialog'
import type { MergeChoice, MergeConflict, WorkspaceCopy } from '@/protocol/types'

interface Props {
  copy: WorkspaceCopy
  conflicts: MergeConflict[]
  settled: (left: MergeConflict[], count: number) => void
  close: () => void
}

type Take = MergeChoice['take'] | 'later'
type Answers = Record<string, { take: Take; text: string }>

/** What both sides changed in one place, file by file: ours, theirs, or something of both. */
export default function Conflicts({ copy, conflicts, settled, close }: Props) {
  const [answers, setAnswers] = useState<Answers>({})
  const [busy, setBusy] = useState(false)
  const choices = conflicts.flatMap(({ path, version }): MergeChoice[] => {
    const answer = answers[path]
    if (!answer || answer.take === 'later') return []
    return [{ path, version, take: answer.take, text: answer.take === 'text' ? answer.text : '' }]
  })
  const settle = async () => {
    setBusy(true)
    const done = await act('workspaces.merge', { copy: copy.id, settled: choices })
    setBusy(false)
    if (done) settled(done.conflicts ?? [], (done.applied?.length ?? 0) + (done.merged?.length ?? 0))
  }
  return (
    <Dialog onClose={close} title={`Merging ${copy.name}: what both sides changed`} size="xl">
      <div className="review-form">
        <p className="dim">
          The rest is merged. These files are as they were on both sides until you choose; what is left for later stays
          so.
        </p>
        {conflicts.map((conflict) => (
          <One
            key={conflict.path}
            conflict={conflict}
            answer={answers[conflict.path] ?? { take: 'later', text: conflict.origin ?? '' }}
            set={(answer) => setAnswers({ ...answers, [conflict.path]: answer })}
          />
        ))}
        <div className="dialog-actions">
          <Button variant="default" onClick={close}>
            Leave them
          </Button>
          <Button loading={busy} disabled={choices.length === 0} onClick={() => void settle()}>
            Settle {choices.length} of {conflicts.length}
          </Button>
        </div>
      </div>
    </Dialog>
  )
}

function One(props: { conflict: MergeConflict; answer: Answers[string]; set: (answer: Answers[string]) => void }) {
  const { path, reason, origin, copy, cut } = props.conflict
  const { take, text } = props.answer
  const editable = !cut && (origin !== null || copy !== null)
  return (
    <section className="review-conflict panel" aria-label={`Conflict in ${path}`}>
      <header>
        <span className="mono review-path">{path}</span>
        <span className="dim">{reason}</span>
      </header>
      <div className="review-sides">
        <Side name="Ours, in the workspace" text={origin} chosen={take === 'origin'} />
        <Side name="Theirs, in the copy" text={copy} chosen={take === 'copy'} />
      </div>
      <Choice
        label={`What becomes of ${path}`}
        value={take}
        choose={(next: Take) => props.set({ take: next, text })}
        choices={[
          { value: 'later', label: 'later' },
          { value: 'origin', label: 'ours' },
          { value: 'copy', label: 'theirs' },
          ...(editable ? [{ value: 'text' as const, label: 'edit' }] : []),
        ]}
      />
      {take === 'text' && (
        <Textarea
          aria-label={`The text of ${path}`}
          autosize
          minRows={6}
          maxRows={24}
          classNames={{ input: 'mono' }}
          value={text}
          onChange={(event) => props.set({ take, text: event.currentTarget.value })}
        />
      )}
    </section>
  )
}

function Side({ name, text, chosen }: { name: string; text: string | null | undefined; chosen: boolean }) {
  return (
    <figure className={chosen ? 'review-side-text review-chosen' : 'review-side-text'}>
      <figcaption className="dim">{name}</figcaption>
      {text === null || text === undefined ? (
        <p className="dim">Removed, or not a text.</p>
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
        <pre className="mono" tabIndex={0}>
          {text}
        </pre>
      )}
    </figure>
  )
}
