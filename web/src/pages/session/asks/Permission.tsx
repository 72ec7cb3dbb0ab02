import { Button, TextInput } from '@mantine/core'
import { Suspense, useCallback, useRef, useState } from 'react'
import { act } from '@/lib/ask'
import { later } from '@/lib/later'
import { Churn } from '@/parts/Diff'
import { filesOf } from '@/parts/diff-lines'
import type { PermissionAsk, PermissionChoice } from '@/protocol/types'
import { type Binding, useKeysAbove } from '@/shell/shortcuts'
import './asks.css'
import { type KeysCount, ownKeys, useAttention, useSettled } from './keys'
import { Subject } from './Subject'
import { Waits } from './Waits'
import { Ways } from './Ways'
import { Why } from './Why'
import { APPROVE, isHeld, placeOf, titleOf, waysToAllow } from './words'

const Whole = later(() => import('./Whole'))

/** How far j and k scroll. */
const STEP = 60

interface Props {
  session: string
  cwd: string
  ask: PermissionAsk
  behind: number
  keys: KeysCount
}

/** A call that waits for a person: what it is, what each answer covers, and all of what it is about. */
export function Permission({ session, cwd, ask, behind, keys }: Props) {
  const risk = ask.risk ?? 'medium'
  const box = useRef<HTMLElement>(null)
  const subject = useRef<HTMLElement>(null)
  const [why, setWhy] = useState(false)
  const [whole, setWhole] = useState(false)
  const [all, setAll] = useState(false)
  // Not known until the browser has said whether the end of it is in sight.
  const [seen, setSeen] = useState<boolean | null>(null)
  const tellSeen = useCallback((inSight: boolean) => setSeen((before) => before || inSight), [])
  const [denying, setDenying] = useState(false)
  const settled = useSettled()
  const { busy, answer } = useAnswer(session, ask)
  useAttention(box, keys)

  const unread = risk === 'high' && !seen
  const ways = waysToAllow(ask.choices)
  const allow = (choice: PermissionChoice) => void (unread || answer('allow', { choice }))
  const deny = () => void answer('deny')
  const showWhole = (on: boolean) => {
    setWhole(on)
    setAll(true)
  }
  const scroll = (by: number) => scrollerOf(subject.current)?.scrollBy({ top: by })
  const bindings: Binding[] = [
    ...ways
      .filter(({ key }) => key)
      .map(({ key, choice }) => ({ keys: key, what: APPROVE[choice.scope], run: settled(() => allow(choice)) })),
    { keys: 'd', what: 'Deny', run: settled(deny) },
    { keys: 'escape', what: 'Deny', run: settled(deny) },
    { keys: 'D', what: 'Deny and say why', run: settled(() => setDenying(true)) },
    { keys: '?', what: 'Why it asks', run: () => setWhy((before) => !before) },
    { keys: 'j', what: 'Scroll down', run: () => scroll(STEP) },
    { keys: 'k', what: 'Scroll up', run: () => scroll(-STEP) },
    { keys: 'v', what: 'All of it, on the whole screen', run: () => showWhole(!whole) },
  ]
  useKeysAbove('A request for permission', keys === 'page' ? bindings : [])

  const shown = (
    <>
      {isHeld(ask) && ask.reason && <p className="ask-reason">{ask.reason}</p>}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
      <section ref={subject} className="ask-subject" tabIndex={0} aria-label="What it is about">
        <Subject ask={ask} all={all} showAll={() => setAll(true)} seen={tellSeen} />
      </section>
      {why && <Why ask={ask} cwd={cwd} />}
      {denying ? (
        <Denial
          busy={busy}
          deny={(reason) => void answer('deny', { reason })}
          close={() => {
            setDenying(false)
            box.current?.focus()
          }}
        />
      ) : (
        <Ways
          ways={ways}
          high={risk === 'high'}
          unread={unread}
          below={seen === false}
          busy={busy}
          why={why}
          allow={allow}
          deny={deny}
          denyBecause={() => setDenying(true)}
          toggleWhy={() => setWhy(!why)}
        />
      )}
    </>
  )
  return (
    <section
      ref={box}
      className={`ask ask-${risk}`}
      tabIndex={-1}
      aria-label="Permission needed"
      aria-live="assertive"
      onKeyDown={ownKeys(bindings)}
    >
      <Head ask={ask} risk={risk} behind={behind} showWhole={() => showWhole(true)} />
      {whole ? (
        <Suspense>
          <Whole title={titleOf(ask)} close={() => setWhole(false)} aside={<About ask={ask} risk={risk} />}>
            {shown}
          </Whole>
        </Suspense>
      ) : (
        shown
      )}
    </section>
  )
}

function useAnswer(session: string, ask: PermissionAsk) {
  const [busy, setBusy] = useState(false)
  const answer = async (decision: 'allow' | 'deny', said: { choice?: PermissionChoice; reason?: string } = {}) => {
    if (busy) return
    setBusy(true)
    const { choice, reason = '' } = said
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
  return { busy, answer }
}

interface HeadProps {
  ask: PermissionAsk
  risk: string
  behind: number
  showWhole: () => void
}

function Head({ ask, risk, behind, showWhole }: HeadProps) {
  return (
    <header className="ask-head">
      <strong>{titleOf(ask)}</strong>
      <About ask={ask} risk={risk} />
      {behind > 0 && <span className="dim">{behind} more</span>}
      <span className="ask-aside">
        <Waits ask={ask} />
        <button type="button" className="ask-whole" onClick={showWhole} title="All of it, on the whole screen">
          whole <kbd>v</kbd>
        </button>
      </span>
    </header>
  )
}

function About({ ask, risk }: { ask: PermissionAsk; risk: string }) {
  const files = filesOf(ask.diff ?? '')
  const place = placeOf(ask)
  return (
    <>
      {files.length > 0 && (
        <Churn
          added={files.reduce((sum, file) => sum + file.added, 0)}
          removed={files.reduce((sum, file) => sum + file.removed, 0)}
        />
      )}
      {place && <span className="dim mono">{place}</span>}
      <span className={`risk risk-${risk}`}>{risk} risk</span>
      {ask.rule && <span className="dim mono cut">{ask.rule}</span>}
    </>
  )
}

function Denial({ busy, deny, close }: { busy: boolean; deny: (reason: string) => void; close: () => void }) {
  const [reason, setReason] = useState('')
  return (
    <form
      className="ask-deny"
      onSubmit={(event) => {
        event.preventDefault()
        deny(reason)
      }}
    >
      <TextInput
        aria-label="Why not"
        placeholder="Why not? The agent is told."
        value={reason}
        onChange={(event) => setReason(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key !== 'Escape') return
          event.preventDefault()
          close()
        }}
        autoFocus
      />
      <Button type="submit" size="xs" color="red" loading={busy}>
        Deny
      </Button>
    </form>
  )
}

/** What scrolls: the subject itself, or on the whole screen what lies around it. */
function scrollerOf(from: HTMLElement | null): HTMLElement | null {
  for (let box = from; box; box = box.parentElement) if (box.scrollHeight > box.clientHeight + 1) return box
  return from
}
