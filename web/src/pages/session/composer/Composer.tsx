import { ActionIcon, FileButton, Textarea, useMantineColorScheme } from '@mantine/core'
import { IconArrowUp, IconPaperclip, IconPlayerStopFilled } from '@tabler/icons-react'
import { useNavigate } from '@tanstack/react-router'
import { type KeyboardEvent, Suspense, useEffect, useLayoutEffect, useRef, useState } from 'react'
import { act } from '@/lib/ask'
import { later, patiently } from '@/lib/later'
import { Tip } from '@/parts/Tip'
import { useKeys } from '@/shell/shortcuts'
import { isBrought } from '@/state/attention'
import { type Conversation, isRunning } from '@/state/conversation'
import { forget, say, type Unsent } from '@/state/outbox'
import { focusAsk } from '../asks/focus'
import { Attached } from './Attached'
import { draftOf, keepDraft } from './drafts'
import { leaveResend } from './resend'
import { UnsentList } from './UnsentList'
import { useAgain } from './useAgain'
import { useFiles } from './useFiles'
import { useHistory } from './useHistory'
import { type Opened, useList } from './useList'
import { commandIn, optionId } from './words'
import '../composer.css'

const GoOn = later(() => import('./GoOn'))
const McpDialog = later(() => import('./McpDialog'))
const Queue = later(() => import('./Queue'))
const ResendBar = later(() => import('./ResendBar'))
const Suggestions = later(() => import('./Suggestions'))
const commands = patiently(() => import('./commands'))

interface Props {
  conversation: Conversation
  rewind: (turn: number) => void
}

export function Composer({ conversation, rewind }: Props) {
  const { info, queued, held, permissions, questions } = conversation
  const session = info.id
  const running = isRunning(info)
  const asked = permissions.length > 0 || questions.length > 0
  const input = useRef<HTMLTextAreaElement>(null)
  const cursorTo = useRef<number | null>(null)
  const [text, setText] = useState(() => draftOf(session))
  const files = useFiles(session)
  const history = useHistory(conversation.messages, setText)
  const [openedOne, setOpened] = useState<Opened | null>(null)
  const list = useList(
    text,
    (changed, cursor) => {
      setText(changed)
      cursorTo.current = cursor
    },
    setOpened,
  )
  // With the new text, before the next key: in the middle of a text, the cursor would be at its end.
  useLayoutEffect(() => {
    const cursor = cursorTo.current
    cursorTo.current = null
    if (cursor !== null && input.current?.value === text) input.current.setSelectionRange(cursor, cursor)
  }, [text])
  const again = useAgain(session, text, setText, files, () => input.current?.focus())
  const navigate = useNavigate()
  const { toggleColorScheme } = useMantineColorScheme()

  useEffect(() => {
    // What is said again has its own place; the draft from before comes back.
    if (!again.one) keepDraft(session, text)
  }, [session, text, again.one])
  useEffect(() => {
    if (!again.one && files.known) files.keep(files.attached)
  }, [files.attached, files.known, files.keep, again.one])
  // A question has the focus for as long as it stands.
  const asks = useRef(asked)
  useEffect(() => {
    if (!asks.current) focusByKeys(input.current)
  }, [])

  const closeOpened = () => {
    setOpened(null)
    input.current?.focus()
  }
  const stop = () => void act('turn.cancel', { session })
  const clear = () => {
    setText('')
    files.set([])
    history.leave()
  }
  const send = async () => {
    const given = text.trim()
    const parts = files.attached.map(({ part }) => part)
    if (again.one || (!given && parts.length === 0)) return
    clear()
    const shell = /^!\s*(\S[\s\S]*)$/.exec(given)?.[1]
    const command = commandIn(given)
    let done: unknown = true
    if (shell) done = await act('tool.run', { session, tool: 'shell', arguments: { command: shell } })
    else if (command) {
      const here = { conversation, navigate, rewind, switchTheme: toggleColorScheme }
      done = await (await commands()).run(command, here, () => say(session, given, parts))
    } else say(session, given, parts)
    if (!done) setText((typed) => typed || given)
  }
  const edit = (one: Unsent) => {
    forget(one.id)
    setText((typed) => (typed.trim() ? `${one.text}\n${typed}` : one.text))
    input.current?.focus()
  }

  const onKey = (event: KeyboardEvent) => {
    if (event.nativeEvent.isComposing || list.onKey(event)) return
    if (event.key === 'Enter' && !event.shiftKey) {
      event.preventDefault()
      void send()
    } else if (event.key === 'Escape') {
      if (asked) focusAsk()
      else if (again.one) leaveResend()
      else if (running && !text) stop()
      else input.current?.blur()
    } else if (event.key === 'ArrowUp' && (text === '' || history.back > 0)) {
      if (history.step(1)) event.preventDefault()
    } else if (event.key === 'ArrowDown' && history.back > 0) {
      if (history.step(-1)) event.preventDefault()
    }
  }

  useKeys('Session', [
    { keys: 'm', what: 'Write a message', run: () => input.current?.focus() },
    ...(running && !asked ? [{ keys: 'escape', what: 'Stop', run: () => nothingElseIsOpen() && stop() }] : []),
  ])

  return (
    <div className={files.over ? 'composer composer-over' : 'composer'}>
      {/* Never loaded later: it is needed while the daemon, which serves it, is away. */}
      <UnsentList info={info} edit={edit} />
      <Suspense>
        {queued.length > 0 && (
          <Queue
            session={session}
            queued={queued}
            held={held}
            running={running}
            inLine={conversation.inLine}
            leave={() => focusByKeys(input.current)}
          />
        )}
      </Suspense>
      <Suspense>{isBrought(conversation) && <GoOn info={info} />}</Suspense>
      {again.one && (
        <Suspense>
          <ResendBar
            key={again.one.number}
            info={info}
            one={again.one}
            text={text}
            parts={files.attached.map(({ part }) => part)}
            done={leaveResend}
          />
        </Suspense>
      )}
      <Suspense>
        {list.found && (
          <Suggestions
            info={info}
            found={list.found}
            chosen={list.chosen}
            choose={list.take}
            lookInto={list.lookInto}
            tell={list.tell}
          />
        )}
      </Suspense>
      <Suspense>{openedOne && <McpDialog opened={openedOne} cwd={info.cwd} close={closeOpened} />}</Suspense>
      <div className="composer-box">
        <Attached all={files.attached} remove={files.remove} />
        <div className="composer-line">
          <FileButton onChange={files.add} multiple>
            {(button) => (
              <Tip label="Attach pictures or texts" side="top">
                <ActionIcon {...button} variant="subtle" color="gray" size="lg" aria-label="Attach">
                  <IconPaperclip size={17} />
                </ActionIcon>
              </Tip>
            )}
          </FileButton>
          <Textarea
            ref={input}
            aria-label="Message"
            placeholder={placeholder(files.over, running, isBrought(conversation))}
            autosize
            minRows={1}
            maxRows={12}
            variant="unstyled"
            className="composer-input"
            value={text}
            onChange={(event) => {
              setText(event.currentTarget.value)
              list.look(event.currentTarget.selectionStart)
              history.leave()
            }}
            aria-autocomplete="list"
            aria-controls={list.shown.length > 0 ? 'suggestions' : undefined}
            aria-activedescendant={list.shown.length > 0 ? optionId(list.chosen) : undefined}
            onKeyDown={onKey}
            onSelect={(event) => list.move(event.currentTarget.selectionStart)}
            onBlur={list.close}
            onPaste={files.onPaste}
          />
          {running && (
            <Tip label={asked ? 'Stop' : 'Stop (Esc). What waits is held back.'} side="top">
              <ActionIcon variant="light" color="red" size="lg" aria-label="Stop" className="stop" onClick={stop}>
                <IconPlayerStopFilled size={15} />
              </ActionIcon>
            </Tip>
          )}
          {!again.one && (
            <Tip label={running ? 'Queue (Enter)' : 'Send (Enter)'} side="top">
              <ActionIcon
                size="lg"
                aria-label={running ? 'Queue' : 'Send'}
                disabled={!text.trim() && files.attached.length === 0}
                onClick={() => void send()}
              >
                <IconArrowUp size={17} />
              </ActionIcon>
            </Tip>
          )}
        </div>
      </div>
    </div>
  )
}

/** Not on a phone, where a keyboard would come up with it. */
function focusByKeys(input: HTMLTextAreaElement | null): void {
  if (matchMedia('(hover: hover)').matches) input?.focus()
}

function placeholder(over: boolean, running: boolean, brought: boolean): string {
  if (over) return 'Drop it to attach it'
  if (brought && !running) return 'Go on here: message, @file, /command, !shell'
  return running ? 'Say more: it waits until this turn has ended' : 'Message, @file, /command, !shell'
}

/** Escape closes what is open first; only with nothing else to close does it stop the agent. */
function nothingElseIsOpen(): boolean {
  const focused = document.activeElement
  return focused === null || focused === document.body || focused.matches('.chat-scroll, .ask, #main')
}
