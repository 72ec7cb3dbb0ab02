import { IconChevronRight } from '@tabler/icons-react'
import { memo, useEffect, useRef } from 'react'
import { duration, lastLine } from '@/lib/format'
import { useNow } from '@/lib/time'
import { Churn, Diff } from '@/parts/Diff'
import { CodeBlock } from '@/parts/Markdown'
import type { Display, ImagePart, ToolCallPart, ToolResultPart } from '@/protocol/types'
import type { Call } from '@/state/conversation'
import { useRowOpen } from './open-rows'
import { Pictures } from './Pictures'
import { wordsFor } from './tool-words'

/** A diff of at most so many lines is shown without being asked for. */
const SMALL_DIFF = 16

interface Props {
  session: string
  rowKey: string
  call: ToolCallPart
  state: Call | null
  result: ToolResultPart | null
  open: boolean
}

/** One line until opened: mark, verb, object, result, time. Open: output as it comes, diff, or what was given and got. */
export const ToolRow = memo(function ToolRow({ session, rowKey, call, state, result, open: first }: Props) {
  const display: Display = result?.display ?? {}
  const diff = display.diff ?? ''
  const [open, toggle] = useRowOpen(session, rowKey, first || (diff !== '' && diff.split('\n').length <= SMALL_DIFF))
  const running = !result && state !== null && !state.finished
  const failed = result?.is_error ?? state?.finished?.isError ?? false
  const { verb, object } = wordsFor(call, state?.summary ?? '', running)
  return (
    <div className="tool">
      <button type="button" className="tool-line" aria-expanded={open} onClick={toggle}>
        <Mark running={running} failed={failed} waiting={!state && !result} />
        {verb && <span className="tool-verb">{verb}</span>}
        <span className="tool-object mono cut" title={object}>
          {object}
        </span>
        <Outcome display={display} state={state} result={result} running={running} />
        <IconChevronRight size={14} className={open ? 'tool-chevron tool-chevron-open' : 'tool-chevron'} />
      </button>
      {open ? (
        <div className="tool-body">
          {diff ? (
            <Diff patch={diff} label={`Changes in ${object}`} />
          ) : (
            <Details call={call} state={state} result={result} />
          )}
        </div>
      ) : (
        running && state.output && <div className="tool-tail mono cut">{lastLine(state.output)}</div>
      )}
    </div>
  )
})

function Mark(props: { running: boolean; failed: boolean; waiting: boolean }) {
  if (props.running) return <span className="tool-mark tool-spinner" role="img" aria-label="running" />
  if (props.waiting) return <span className="tool-mark dim">·</span>
  return props.failed ? (
    <span className="tool-mark tool-failed" role="img" aria-label="failed">
      ✗
    </span>
  ) : (
    <span className="tool-mark tool-done" role="img" aria-label="done">
      ✓
    </span>
  )
}

function Outcome(props: { display: Display; state: Call | null; result: ToolResultPart | null; running: boolean }) {
  const { display, state, result, running } = props
  const took = result?.duration_ms ?? state?.finished?.durationMs
  const summary = display.summary ?? state?.finished?.summary ?? ''
  return (
    <span className="tool-outcome">
      {typeof display.added === 'number' && typeof display.removed === 'number' ? (
        <Churn added={display.added} removed={display.removed} />
      ) : (
        summary && <span>{summary}</span>
      )}
      {running && state ? <Elapsed since={state.startedAt} /> : took !== undefined && <span>{duration(took)}</span>}
    </span>
  )
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
      {text}
    </pre>
  )
}
