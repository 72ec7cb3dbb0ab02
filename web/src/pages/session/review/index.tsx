import { Button, Checkbox } from '@mantine/core'
import { IconGitPullRequest } from '@tabler/icons-react'
import { useRef, useState } from 'react'
import { act } from '@/lib/ask'
import { useFollowing } from '@/lib/following'
import { apart, churnOf, filesWords, ignoredWords } from '@/lib/ignored'
import { tell } from '@/lib/tell'
import { Choice } from '@/parts/Choice'
import { Churn } from '@/parts/Diff'
import { IgnoredFiles } from '@/parts/IgnoredFiles'
import { EmptyState, ErrorState, LoadingRows } from '@/parts/states'
import type { ChangedFile, Review, ReviewedFile } from '@/protocol/types'
import type { Conversation } from '@/state/conversation'
import { daemon } from '@/state/daemon'
import { askedIn } from '../asked'
import { Copies } from './Copies'
import { cardId, FileCard } from './FileCard'
import { FileList } from './FileList'
import { GitActions } from './GitActions'
import { changeView, useView } from './kept'
import { useHunkKeys } from './keys'
import '@/parts/diff.css'
import './review.css'

interface Props {
  conversation: Conversation
  rewind: (turn: number) => void
}

/** One place for everything a session changed: look, keep, take back, comment, commit. */
export default function ReviewTab({ conversation, rewind }: Props) {
  const { info, changedAt } = conversation
  const [turn, setTurn] = useState<number | null>(null)
  const [others, setOthers] = useState('')
  const [withIgnored, setWithIgnored] = useState(false)
  const main = useRef<HTMLDivElement>(null)
  useHunkKeys(main)
  const review = useFollowing(['review.show', info.id, turn], changedAt, () =>
    daemon.request('review.show', { session: info.id, turn }),
  )
  const choose = (next: number | null, file?: ChangedFile) => {
    setTurn(next)
    setOthers('')
    if (!file) return
    if (file.ignored) setWithIgnored(true)
    requestAnimationFrame(() => document.getElementById(cardId(file.path))?.scrollIntoView({ block: 'start' }))
  }
  if (review.error && !review.data) return <ErrorState problem={review.error} retry={() => void review.refetch()} />
  if (!review.data)
    return (
      <div className="review-loading">
        <LoadingRows count={8} height={28} />
      </div>
    )
  const found = review.data
  const last = found.turns?.at(-1)?.turn
  return (
    <div className="review">
      <Bar conversation={conversation} review={found} undo={last ? () => rewind(last) : null} />
      <div className="review-body">
        <div className="review-side">
          <FileList
            turns={found.turns ?? []}
            others={found.others ?? []}
            turn={turn}
            words={askedIn(conversation)}
            choose={choose}
            showOthers={setOthers}
          />
          <Copies session={info} changedAt={changedAt} />
        </div>
        <div ref={main} className="review-main">
          {others ? (
            <OthersFile session={info.id} review={found} path={others} close={() => setOthers('')} />
          ) : (
            <Files
              session={info.id}
              files={found.files ?? []}
              turn={turn}
              again={() => void review.refetch()}
              open={withIgnored}
              setOpen={setWithIgnored}
            />
          )}
        </div>
      </div>
    </div>
  )
}

function Bar({
  conversation,
  review,
  undo,
}: {
  conversation: Conversation
  review: Review
  undo: (() => void) | null
}) {
  const { split, wrap, words } = useView()
  const [files, ignored] = apart(
    (review.files ?? []).map(({ file }) => file),
    (file) => file,
  )
  return (
    <div className="review-bar" role="toolbar" aria-label="Review">
      <strong className="review-sum">
        {filesWords(files.length)} <Churn {...churnOf(files)} />
      </strong>
      {ignored.length > 0 && <span className="dim">{ignoredWords(ignored.length)}</span>}
      <Choice
        label="Layout"
        value={split ? 'split' : 'unified'}
        choose={(value) => changeView({ split: value === 'split' })}
        choices={['split', 'unified']}
      />
      <Checkbox
        size="xs"
        label="wrap"
        checked={wrap}
        onChange={(event) => changeView({ wrap: event.currentTarget.checked })}
      />
      <Checkbox
        size="xs"
        label="word diff"
        checked={words}
        onChange={(event) => changeView({ words: event.currentTarget.checked })}
      />
      <span className="review-space" />
      <GitActions conversation={conversation} />
      {undo && (
        <Button size="xs" variant="default" onClick={undo}>
          Undo …
        </Button>
      )}
    </div>
  )
}

interface FilesProps {
  session: string
  files: ReviewedFile[]
  turn: number | null
  again: () => void
  /** What git ignores is shown, too. */
  open: boolean
  setOpen: (open: boolean) => void
}

function Files(props: FilesProps) {
  const { session, files, turn } = props
  const [busy, setBusy] = useState(false)
  const revert = async ({ file, version }: ReviewedFile, hunks: number[]) => {
    setBusy(true)
    const done = await act('review.revert', { session, path: file.path, version, turn, hunks })
    setBusy(false)
    if (!done) return props.again()
    const merged = done.merged?.length ? ' What others wrote is still in it.' : ''
    tell({
      tone: 'plain',
      title: hunks.length > 0 ? 'The hunk is taken back' : 'The changes are taken back',
      text: `${file.path} is without them.${merged}`,
      action: { label: 'Bring it back', run: () => void act('session.redo', { session, undo: done.undo }) },
    })
  }
  const wholeOf = async (path: string) => {
    const found = await daemon.request('review.show', { session, turn, path })
    return found.files?.[0]?.file
  }
  if (files.length === 0)
    return (
      <EmptyState icon={<IconGitPullRequest size={24} />} title="Nothing to review">
        {turn === null
          ? 'What the agent changes in your files is shown here, to be kept or taken back, commented on and committed.'
          : 'Nothing of what this turn changed stands any more.'}
      </EmptyState>
    )
  const [known, ignored] = apart(files, ({ file }) => file)
  const cards = (some: ReviewedFile[]) =>
    some.map((one) => (
      <FileCard
        key={one.file.path}
        session={session}
        file={one.file}
        version={one.version}
        whole={() => wholeOf(one.file.path)}
        busy={busy}
        revert={(hunks) => void revert(one, hunks)}
      />
    ))
  return (
    <>
      {cards(known)}
      <IgnoredFiles files={ignored.map(({ file }) => file)} open={props.open} setOpen={props.setOpen}>
        {cards(ignored)}
      </IgnoredFiles>
    </>
  )
}

function OthersFile(props: { session: string; review: Review; path: string; close: () => void }) {
  const files = (props.review.others ?? []).flatMap(({ files }) => files).filter(({ path }) => path === props.path)
  return (
    <>
      <div className="review-others-head">
        <span>Changed by others since. This session did not do it, and nothing here takes it back.</span>
        <Button size="compact-sm" variant="default" onClick={props.close}>
          Back to the session’s changes
        </Button>
      </div>
      {files.map((file, place) => (
        <FileCard key={place} session={props.session} file={file} version="" />
      ))}
    </>
  )
}
