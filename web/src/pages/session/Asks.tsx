import { Button, TextInput } from '@mantine/core'
import { type RefObject, useEffect, useRef, useState } from 'react'
import { act, useAsk } from '@/lib/ask'
import { Diff } from '@/parts/Diff'
import { CodeBlock } from '@/parts/Markdown'
import { Words } from '@/parts/Words'
import type { PermissionAsk, PermissionChoice, Question } from '@/protocol/types'
import { useKeysAbove } from '@/shell/shortcuts'
import type { Conversation } from '@/state/conversation'
import { aboutTool } from './tool-words'
import './asks.css'

/** A key pressed in the moment something appears was meant for something else. */
const SETTLING = 400

/** What needs the person, always in the same place: above the input. One at a time; the rest waits behind it. */
export function Asks({ conversation }: { conversation: Conversation }) {
  const { permissions, questions, info } = conversation
  const ask = permissions[0]
  const question = questions[0]
  if (ask) return <Permission key={ask.id} session={info.id} cwd={info.cwd} ask={ask} behind={permissions.length - 1} />
  if (question) return <Asked key={question.id} session={info.id} question={question} behind={questions.length - 1} />
  return null
}

function useSettled() {
  const appeared = useRef(performance.now())
  return (run: () => void) => () => {
    if (performance.now() - appeared.current > SETTLING) run()
  }
}

/** Its keys work at once, unless the person is writing something. */
function useAttention(box: RefObject<HTMLElement | null>) {
  useEffect(() => {
    const typing = document.activeElement
    const idle = typing === document.body || (typing instanceof HTMLTextAreaElement && typing.value === '')
    if (idle) box.current?.focus()
  }, [box])
}

function Permission(props: { session: string; cwd: string; ask: PermissionAsk; behind: number }) {
  const { session, ask } = props
  const risk = ask.risk ?? 'medium'
  const box = useRef<HTMLElement>(null)
  const [why, setWhy] = useState(false)
  const [denying, setDenying] = useState(false)
  const [reason, setReason] = useState('')
  const [busy, setBusy] = useState(false)
  const settled = useSettled()
  useAttention(box)

  const ways = waysToAllow(ask.choices)
  const answer = async (decision: 'allow' | 'deny', choice?: PermissionChoice) => {
    if (busy) return
    setBusy(true)
    const given = {
      session,
      ask: ask.id,
      decision,
      scope: choice?.scope ?? ('once' as const),
      ...(choice && ask.choices?.length ? { choice: choice.id } : {}),
      ...(reason.trim() ? { reason: reason.trim() } : {}),
    }
    if (!(await act('permission.answer', given))) setBusy(false)
  }
  useKeysAbove('A request for permission', [
    ...ways
      .filter(({ key }) => key)
      .map(({ key, choice }) => ({
        keys: key,
        what: APPROVE[choice.scope],
        run: settled(() => void answer('allow', choice)),
      })),
    { keys: 'd', what: 'Deny', run: settled(() => void answer('deny')) },
    { keys: 'D', what: 'Deny and say why', run: settled(() => setDenying(true)) },
    { keys: '?', what: 'Why it asks', run: () => setWhy((before) => !before) },
  ])

  return (
    <section ref={box} className={`ask ask-${risk}`} tabIndex={-1} aria-label="Permission needed" aria-live="assertive">
      <header className="ask-head">
        <strong>{titleOf(ask.tool)}</strong>
        <span className={`risk risk-${risk}`}>{risk} risk</span>
        {ask.rule && <span className="dim mono cut">{ask.rule}</span>}
        {props.behind > 0 && <span className="dim">{props.behind} more</span>}
      </header>
      {LEAVES.has(ask.tool) && ask.reason && <p className="ask-reason">{ask.reason}</p>}
      <Subject ask={ask} />
      {why && <Why ask={ask} cwd={props.cwd} />}
      {denying ? (
        <form
          className="ask-deny"
          onSubmit={(event) => {
            event.preventDefault()
            void answer('deny')
          }}
        >
          <TextInput
            aria-label="Why not"
            placeholder="Why not? The agent is told."
            value={reason}
            onChange={(event) => setReason(event.currentTarget.value)}
            onKeyDown={(event) => {
              if (event.key === 'Escape') setDenying(false)
            }}
            autoFocus
          />
          <Button type="submit" size="xs" color="red" loading={busy}>
            Deny
          </Button>
        </form>
      ) : (
        <>
          <ul className="ask-ways" aria-label="Ways to allow it">
            {ways.map(({ key, label, choice }) => (
              <li key={choice.id}>
                <Button
                  size="xs"
                  variant={choice.scope === 'once' ? 'filled' : 'default'}
                  disabled={busy}
                  onClick={() => void answer('allow', choice)}
                  rightSection={key && <kbd>{key}</kbd>}
                >
                  {label}
                </Button>
                <span className="ask-covers">
                  <Words text={choice.covers} />
                </span>
              </li>
            ))}
          </ul>
          <div className="ask-actions">
            <Button
              size="xs"
              variant="default"
              disabled={busy}
              onClick={() => void answer('deny')}
              rightSection={<kbd>d</kbd>}
            >
              Deny
            </Button>
            <Button
              size="xs"
              variant="subtle"
              color="gray"
              disabled={busy}
              onClick={() => setDenying(true)}
              rightSection={<kbd>D</kbd>}
            >
              Deny, because …
            </Button>
            <Button
              size="xs"
              variant="subtle"
              color="gray"
              onClick={() => setWhy(!why)}
              aria-expanded={why}
              rightSection={<kbd>?</kbd>}
            >
              Why?
            </Button>
          </div>
        </>
      )}
    </section>
  )
}

const TITLES: Record<string, string> = {
  network: 'Let it connect?',
  folder: 'Let it read this folder?',
  folder_write: 'Let it write in this folder?',
  unsaved: 'Let it change what undo cannot bring back?',
  engine: 'Let it use the container engine?',
  credential: 'Let it use this credential?',
}

function titleOf(tool: string): string {
  if (aboutTool(tool).words[0] === 'run') return 'Run this command?'
  return TITLES[tool] ?? `Allow ${tool}?`
}

/** What is asked for while something else runs: who wants it, and what for, is not to be seen from the thing itself. */
const LEAVES = new Set(['network', 'folder', 'folder_write', 'engine', 'credential'])
const KEYS: Record<string, string> = { once: 'a', session: 's', always: 'A' }
const APPROVE = { once: 'Approve once', session: 'Approve for this session', always: 'Approve always' }
const LABELS = { once: 'Once', session: 'This session', always: 'Always' }
/** What a daemon means that tells no choices. */
const PLAIN: PermissionChoice[] = [
  { id: 'once', scope: 'once', by: 'call', covers: 'Only this, this one time.' },
  { id: 'session', scope: 'session', by: 'exact', covers: 'For the rest of this session.' },
  { id: 'always', scope: 'always', by: 'exact', covers: 'Always in this workspace.' },
]

/** The keys are the same everywhere. Other widths than the usual have none here, where numbers are for the tabs. */
function waysToAllow(choices: PermissionChoice[] = []) {
  return (choices.length > 0 ? choices : PLAIN).map((choice) => ({
    key: KEYS[choice.id] ?? '',
    label: LABELS[choice.scope],
    choice,
  }))
}

/** The exact command or change. */
function Subject({ ask }: { ask: PermissionAsk }) {
  const { command, path, old, new: fresh, content } = ask.arguments
  if (LEAVES.has(ask.tool))
    return (
      <>
        <CodeBlock code={ask.summary} language="" />
        {typeof command === 'string' && <CodeBlock code={command} language="bash" />}
      </>
    )
  if (typeof command === 'string') return <CodeBlock code={command} language="bash" />
  if (typeof path === 'string' && typeof fresh === 'string')
    return <Diff patch={replacement(typeof old === 'string' ? old : '', fresh)} label={`Change of ${path}`} />
  if (typeof path === 'string' && typeof content === 'string')
    return <Diff patch={replacement('', content)} label={`New content of ${path}`} />
  return <CodeBlock code={ask.summary || JSON.stringify(ask.arguments, null, 2)} language="" />
}

function replacement(old: string, fresh: string): string {
  const marked = (text: string, sign: string) => (text ? text.split('\n').map((line) => sign + line) : [])
  return ['@@ -1 +1 @@', ...marked(old, '-'), ...marked(fresh, '+')].join('\n')
}

function Why({ ask, cwd }: { ask: PermissionAsk; cwd: string }) {
  const command = typeof ask.arguments.command === 'string' ? ask.arguments.command : ''
  const explained = useAsk('policy.explain', { command, cwd, tool: ask.tool }, { enabled: command !== '' })
  return (
    <div className="ask-why">
      <p>{ask.reason || 'The mode of this session asks before calls like this one.'}</p>
      {explained.data && explained.data.steps.length > 0 && (
        <ul>
          {explained.data.steps.map((step) => (
            <li key={step.command}>
              <code>{step.command}</code>: {step.decision}, {step.risk} risk. {step.reason}{' '}
              <span className="dim mono">{step.rule}</span>
            </li>
          ))}
        </ul>
      )}
      {command === '' && <CodeBlock code={JSON.stringify(ask.arguments, null, 2)} language="json" />}
    </div>
  )
}

function Asked({ session, question, behind }: { session: string; question: Question; behind: number }) {
  const [own, setOwn] = useState('')
  const choices = question.choices ?? []
  const answer = (text: string) => void act('question.answer', { session, question: question.id, answer: text })
  const box = useRef<HTMLElement>(null)
  const settled = useSettled()
  useAttention(box)
  useKeysAbove(
    'A question',
    choices.slice(0, 9).map((choice, index) => ({
      keys: String(index + 1),
      what: `Answer: ${choice}`,
      run: settled(() => answer(choice)),
    })),
  )
  return (
    <section ref={box} className="ask ask-question" tabIndex={-1} aria-label="The agent asks" aria-live="assertive">
      <header className="ask-head">
        <strong>{question.text}</strong>
        {behind > 0 && <span className="dim">{behind} more</span>}
      </header>
      <div className="ask-actions">
        {choices.map((choice, index) => (
          <Button
            key={choice}
            size="xs"
            variant="default"
            onClick={() => answer(choice)}
            rightSection={index < 9 ? <kbd>{index + 1}</kbd> : undefined}
          >
            {choice}
          </Button>
        ))}
      </div>
      <form
        className="ask-deny"
        onSubmit={(event) => {
          event.preventDefault()
          if (own.trim()) answer(own.trim())
        }}
      >
        <TextInput
          aria-label="Your answer"
          placeholder={choices.length > 0 ? 'Or answer in your own words' : 'Your answer'}
          value={own}
          onChange={(event) => setOwn(event.currentTarget.value)}
        />
        <Button type="submit" size="xs" disabled={!own.trim()}>
          Answer
        </Button>
      </form>
    </section>
  )
}
