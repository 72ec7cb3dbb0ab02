import { ActionIcon } from '@mantine/core'
import { IconMessagePlus } from '@tabler/icons-react'
import { Fragment, useRef, useState } from 'react'
import type { Piece } from '@/parts/code-lines'
import { Code } from '@/parts/Diff'
import type { Range } from '@/parts/diff-words'
import { Comment } from './Comment'
import { type Hunk, type Placed, sideBySide } from './rows'

export interface Painted {
  colours: Map<number, Piece[]> | null
  lit: Map<number, Range[]>
}

interface Props {
  session: string
  path: string
  hunk: Hunk
  split: boolean
  painted: Painted
}

/** Which line, and the button that is left for it. */
type Commenting = (place: number, from: HTMLElement) => void

const SIGNS = { added: '+', removed: '−', same: ' ', hunk: '' } as const

/** The lines of one hunk, before and after in one column or in two; each takes a comment. */
export function HunkLines({ session, path, hunk, split, painted }: Props) {
  const [on, setOn] = useState<number | null>(null)
  const from = useRef<HTMLElement>(null)
  const comment: Commenting = (place, button) => {
    from.current = button
    setOn(place)
  }
  const close = () => {
    setOn(null)
    from.current?.focus()
  }
  const rows = split
    ? sideBySide(hunk.lines)
    : hunk.lines.map((placed) => ({
        left: placed.line.kind === 'added' ? null : placed,
        right: placed.line.kind === 'removed' ? null : placed,
      }))
  return rows.map(({ left, right }) => {
    const asked = [left, right].find((placed) => placed && placed.place === on)
    const key = `${left?.place}-${right?.place}`
    return (
      <Fragment key={key}>
        {split ? (
          <tr>
            <Side placed={left} side="old" painted={painted} comment={comment} same={left === right} />
            <Side placed={right} side="now" painted={painted} comment={comment} />
          </tr>
        ) : (
          <One placed={(right ?? left)!} painted={painted} comment={comment} />
        )}
        {asked && (
          <tr className="review-comment-row">
            <td colSpan={split ? 6 : 5}>
              <Comment session={session} path={path} line={asked.line} close={close} />
            </td>
          </tr>
        )}
      </Fragment>
    )
  })
}

function One({ placed, painted, comment }: { placed: Placed; painted: Painted; comment: Commenting }) {
  const { line } = placed
  return (
    <tr className={`diff-${line.kind}`}>
      <td className="diff-number">{line.old}</td>
      <td className="diff-number">{line.now}</td>
      <CommentButton placed={placed} comment={comment} />
      <td className="diff-sign">{SIGNS[line.kind]}</td>
      <Text placed={placed} painted={painted} />
    </tr>
  )
}

function Side(props: {
  placed: Placed | null
  side: 'old' | 'now'
  painted: Painted
  comment: Commenting
  /** The line on the other side is the same one: it is commented on there. */
  same?: boolean
}) {
  const { placed, side } = props
  if (!placed)
    return (
      <>
        <td className="diff-number review-nothing" />
        <td className="review-nothing" />
        <td className="review-nothing" />
      </>
    )
  const kind = `diff-${placed.line.kind}`
  return (
    <>
      <td className={`diff-number ${kind}-cell`}>{placed.line[side]}</td>
      {props.same ? (
        <td className="review-ask" />
      ) : (
        <CommentButton placed={placed} comment={props.comment} kind={kind} />
      )}
      <Text placed={placed} painted={props.painted} kind={kind} />
    </>
  )
}

function CommentButton(props: { placed: Placed; comment: Commenting; kind?: string }) {
  const { line, place } = props.placed
  const name = line.kind === 'removed' ? `removed line ${line.old}` : `line ${line.now}`
  return (
    <td className={`review-ask ${props.kind ? `${props.kind}-cell` : ''}`}>
      <ActionIcon
        size={18}
        variant="filled"
        className="review-ask-button"
        aria-label={`Comment on ${name}`}
        onClick={({ currentTarget }) => props.comment(place, currentTarget)}
      >
        <IconMessagePlus size={13} />
      </ActionIcon>
    </td>
  )
}

function Text({ placed: { line, place }, painted, kind }: { placed: Placed; painted: Painted; kind?: string }) {
  return (
    <td className={`diff-text ${kind ? `${kind}-cell` : ''}`}>
      <Code pieces={painted.colours?.get(place) ?? [{ text: line.text, kind: '' }]} lit={painted.lit.get(place)} />
    </td>
  )
}
