import { ActionIcon } from '@mantine/core'
import { IconChevronRight, IconFileArrowRight } from '@tabler/icons-react'
import { memo, Suspense, useContext, useEffect, useRef } from 'react'
import { duration, lastLine } from '@/lib/format'
import { later } from '@/lib/later'
import { useNow } from '@/lib/time'
import { CodeBlock } from '@/parts/CodeBlock'
import { Churn, Diff } from '@/parts/Diff'
import { Pictures } from '@/parts/Pictures'
import { OpenPath, WithPaths } from '@/parts/paths/PathLink'
import { Tip } from '@/parts/Tip'
import type { Display, ImagePart, ToolCallPart, ToolResultPart } from '@/protocol/types'
import { type Call, type CallEnd, endOf } from '@/state/conversation'
import { useRowOpen } from './open-rows'
import { placeOf } from './split/place-of'
import { type Phase, wordsFor } from './tool-words'

const CallAgents = later(() => import('./agents/CallAgents'))

/** A diff of at most so many lines is shown without being asked for. */
const SMALL_DIFF = 16

interface Props {
  session: string
  rowKey: string
  call: ToolCallPart
  state: Call | null
  result: ToolResultPart | null
  open: boolean
  /** A person is asked whether it may run. */
  asking: boolean
}

/** One line until opened: mark, verb, object, result, time. Open: output as it comes, diff, or what was given and got. */
export const ToolRow = memo(function ToolRow({ session, rowKey, call, state, result, open: first, asking }: Props) {
  const display: Display = result?.display ?? {}
  const diff = display.diff ?? ''
  const [open, toggle] = useRowOpen(session, rowKey, first || (diff !== '' && diff.split('\n').length <= SMALL_DIFF))
  const phase = phaseOf(state, result, asking)
  const { verb, object } = wordsFor(call, state?.summary ?? '', phase)
  return (
    <div className="tool">
      <div className="tool-head">
        <button type="button" className="tool-line" aria-expanded={open} onClick={toggle}>
          <Mark phase={phase} />
          {verb && <span className="tool-verb">{verb}</span>}
          <span className="tool-object mono cut" title={object}>
            {object}
          </span>
          <Outcome display={display} state={state} result={result} phase={phase} />
          <IconChevronRight size={14} className={open ? 'tool-chevron tool-chevron-open' : 'tool-chevron'} />
        </button>
        <OpenFileOf call={call} display={display} />
      </div>
      {open ? (
        <div className="tool-body">
          {diff ? (
            <Diff patch={diff} label={`Changes in ${object}`} path={object} />
          ) : (
            <Details call={call} state={state} result={result} />
          )}
        </div>
      ) : call.name === 'agent' ? null : (
        <Below phase={phase} state={state} result={result} />
      )}
      {call.name === 'agent' && (
        <Suspense>
          <CallAgents session={session} call={call} result={result} />
        </Suspense>
      )}
    </div>
  )
})

/** The file that a call was about, opened at the line it was about. */
function OpenFileOf({ call, display }: { call: ToolCallPart; display: Display }) {
  const open = useContext(OpenPath)
  const place = placeOf(call, display)
  if (!open || !place) return null
  const label = `Open ${place.path}`
  return (
    <Tip label={label} side="end">
      <ActionIcon
        className="tool-open"
        size="sm"
        variant="subtle"
        color="gray"
        aria-label={label}
        onClick={() => open(place.path, place.line)}
      >
        <IconFileArrowRight size={14} />
      </ActionIcon>
    </Tip>
  )
}

function phaseOf(state: Call | null, result: ToolResultPart | null, asking: boolean): Phase {
  if (result) return endOf(result)
  if (state?.finished) return state.finished.ended
  if (state) return 'running' // also while it waits for something that it asks for itself, a host
  return asking ? 'asking' : 'waiting'
}

const MARKS: Record<CallEnd, { sign: string; colour: string }> = {
  done: { sign: '✓', colour: 'tool-done' },
  failed: { sign: '✗', colour: 'tool-failed' },
  denied: { sign: '✗', colour: 'tool-failed' },
  stopped: { sign: '■', colour: 'tool-stopped' },
  interrupted: { sign: '■', colour: 'tool-stopped' },
  not_run: { sign: '–', colour: 'dim' },
}

function Mark({ phase }: { phase: Phase }) {
  if (phase === 'running') return <span className="tool-mark tool-spinner" role="img" aria-label="running" />
  if (phase === 'waiting' || phase === 'asking') return <span className="tool-mark dim">·</span>
  const { sign, colour } = MARKS[phase]
  return (
    <span className={`tool-mark ${colour}`} role="img" aria-label={phase.replace('_', ' ')}>
      {sign}
    </span>
  )
}

function Outcome(props: { display: Display; state: Call | null; result: ToolResultPart | null; phase: Phase }) {
  const { display, state, result, phase } = props
  const took = result?.duration_ms ?? state?.finished?.durationMs
  const summary = display.summary ?? state?.finished?.summary ?? ''
  if (phase !== 'done' && phase !== 'failed' && phase !== 'running') return <span className="tool-outcome" />
  return (
    <span className="tool-outcome">
      {typeof display.added === 'number' && typeof display.removed === 'number' ? (
        <Churn added={display.added} removed={display.removed} />
      ) : (
        summary && <span>{summary}</span>
      )}
      {phase === 'running' && state ? (
        <Elapsed since={state.startedAt} />
      ) : (
        took !== undefined && <span>{duration(took)}</span>
      )}
    </span>
  )
}

/** The last line of what runs; or why it did not, in as many lines as that takes. */
function Below({ phase, state, result }: { phase: Phase; state: Call | null; result: ToolResultPart | null }) {
  if (phase === 'running')
    return state?.output ? <div className="tool-tail mono cut">{lastLine(state.output)}</div> : null
  const failure = phase === 'failed' && result?.display?.exit_code === undefined ? (result?.text ?? '') : ''
  const reason = result?.reason || state?.finished?.reason || failure.split('\n', 1)[0]
  return phase !== 'done' && reason ? <div className="tool-tail">{reason}</div> : null
}

function Elapsed({ since }: { since: number }) {
  const now = useNow(1000)
  return <span>{Math.max(0, Math.floor(now - since))} s</span>
}

function Details({ call, state, result }: { call: ToolCallPart; state: Call | null; result: ToolResultPart | null }) {
  const given = call.arguments ?? {}
  const command = typeof given.command === 'string' ? given.command : null
  const others = Object.fromEntries(Object.entries(given).filter(([name]) => name !== 'command'))
  const images: ImagePart[] = result?.images ?? []
  return (
    <>
      {command !== null && <CodeBlock code={command} language="bash" />}
      {call.invalid_arguments && <CodeBlock code={call.invalid_arguments} language="" />}
      {Object.keys(others).length > 0 && <CodeBlock code={JSON.stringify(others, null, 2)} language="json" />}
      {result ? <Output text={result.text} /> : state && <Output text={state.output} dropped={state.dropped} live />}
      <Pictures images={images} />
    </>
  )
}

function Output({ text, dropped = 0, live = false }: { text: string; dropped?: number; live?: boolean }) {
  const box = useRef<HTMLPreElement>(null)
  const atEnd = useRef(true)
  useEffect(() => {
    if (live && atEnd.current && box.current) box.current.scrollTop = box.current.scrollHeight
  }, [text, live])
  if (!text) return live ? <p className="dim tool-quiet">No output yet.</p> : null
  return (
    <pre
      ref={box}
      className="tool-output"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
      tabIndex={0}
      onScroll={({ currentTarget: it }) => {
        atEnd.current = it.scrollHeight - it.scrollTop - it.clientHeight < 8
      }}
    >
      {dropped > 0 && (
        <span className="dim">
          … {dropped} earlier characters{'\n'}
        </span>
      )}
      {live ? text : <WithPaths text={text} />}
    </pre>
  )
}
