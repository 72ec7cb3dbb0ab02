import { ActionIcon, Button, Textarea } from '@mantine/core'
import { IconArrowUp, IconPhoto, IconPlayerStopFilled, IconX } from '@tabler/icons-react'
import { type ClipboardEvent, type KeyboardEvent, useEffect, useRef, useState } from 'react'
import { act, tellProblem } from '@/lib/ask'
import { Tip } from '@/parts/Tip'
import type { ImagePart, QueuedMessage } from '@/protocol/types'
import { useKeys } from '@/shell/shortcuts'
import { type Conversation, isRunning } from '@/state/conversation'
import { type Suggestion, Suggestions, useSuggestions, wordAt } from './Completion'
import './composer.css'

const drafts = new Map<string, string>()
const PICTURES = ['image/png', 'image/jpeg', 'image/gif', 'image/webp']

export function Composer({ conversation }: { conversation: Conversation }) {
  const { info, queued, held } = conversation
  const session = info.id
  const running = isRunning(info)
  const input = useRef<HTMLTextAreaElement>(null)
  const [text, setText] = useState(drafts.get(session) ?? '')
  const [images, setImages] = useState<ImagePart[]>([])
  const [back, setBack] = useState(0)
  const [cursor, setCursor] = useState(0)
  const [chosen, setChosen] = useState(0)
  const [dismissed, setDismissed] = useState(false)
  const said = conversation.messages.filter(({ role }) => role === 'user')

  useEffect(() => {
    drafts.set(session, text)
  }, [session, text])
  useEffect(() => {
    if (matchMedia('(hover: hover)').matches) input.current?.focus()
  }, [])

  const stop = () => void act('turn.cancel', { session })
  const send = async () => {
    const given = text.trim()
    if (!given && images.length === 0) return
    setText('')
    setImages([])
    setBack(0)
    const command = /^!\s*(\S[\s\S]*)$/.exec(given)?.[1]
    const done = command
      ? await act('tool.run', { session, tool: 'shell', arguments: { command } })
      : await act('message.send', { session, text: given, parts: images })
    if (!done) {
      setText((typed) => typed || given)
      setImages(images)
    }
  }

  /** ↑ in an empty input brings back what was said before. */
  const recall = (step: number): boolean => {
    const place = back + step
    if (place < 0 || place > said.length) return false
    const parts = place === 0 ? [] : (said[said.length - place]?.parts ?? [])
    setBack(place)
    setText(parts.map((part) => (part.type === 'text' ? part.text : '')).join(''))
    return true
  }

  const found = dismissed ? null : wordAt(text, cursor)
  const suggestions = useSuggestions(info, found)
  const complete = (one: Suggestion) => {
    if (!found) return
    const rest = text.slice(cursor)
    setText(text.slice(0, found.start) + one.text + rest)
    setCursor(found.start + one.text.length)
    setChosen(0)
  }

  /** Keys of the list of suggestions, while there is one. Returns whether the key was meant for it. */
  const onListKey = (event: KeyboardEvent): boolean => {
    const one = suggestions[chosen]
    if (!one) return false
    const finished = one.text.trim() === text.slice(found?.start ?? 0, cursor)
    if (event.key === 'ArrowDown') setChosen((chosen + 1) % suggestions.length)
    else if (event.key === 'ArrowUp') setChosen((chosen + suggestions.length - 1) % suggestions.length)
    else if (event.key === 'Tab' || (event.key === 'Enter' && !event.shiftKey && !finished)) complete(one)
    else if (event.key === 'Escape') setDismissed(true)
    else return false
    event.preventDefault()
    return true
  }

  const onKey = (event: KeyboardEvent) => {
    if (event.nativeEvent.isComposing || onListKey(event)) return
    if (event.key === 'Enter' && !event.shiftKey) {
      event.preventDefault()
      void send()
    } else if (event.key === 'Escape') {
      if (running && !text) stop()
      else input.current?.blur()
    } else if (event.key === 'ArrowUp' && (text === '' || back > 0)) {
      if (recall(1)) event.preventDefault()
    } else if (event.key === 'ArrowDown' && back > 0) {
      if (recall(-1)) event.preventDefault()
    }
  }

  const onPaste = (event: ClipboardEvent) => {
    const pictures = [...event.clipboardData.files].filter(({ type }) => PICTURES.includes(type))
    if (pictures.length === 0) return
    event.preventDefault()
    Promise.all(pictures.map(toPart)).then((added) => setImages((before) => [...before, ...added]), tellProblem)
  }

  useKeys('Session', [
    { keys: 'i', what: 'Write a message', run: () => input.current?.focus() },
    ...(running ? [{ keys: 'escape', what: 'Stop', run: () => nothingElseIsOpen() && stop() }] : []),
  ])

  return (
    <div className="composer">
      <Queue session={session} queued={queued} held={held} />
      {images.length > 0 && (
        <Attached images={images} remove={(gone) => setImages(images.filter((one) => one !== gone))} />
      )}
      {suggestions.length > 0 && <Suggestions all={suggestions} chosen={chosen} choose={complete} />}
      <div className="composer-box">
        <Textarea
          ref={input}
          aria-label="Message"
          placeholder={running ? 'Say more: it waits until this turn has ended' : 'Message, @file, /command, !shell'}
          autosize
          minRows={1}
          maxRows={12}
          variant="unstyled"
          className="composer-input"
          value={text}
          onChange={(event) => {
            setText(event.currentTarget.value)
            setCursor(event.currentTarget.selectionStart)
            setBack(0)
            setChosen(0)
            setDismissed(false)
          }}
          aria-controls={suggestions.length > 0 ? 'suggestions' : undefined}
          onKeyDown={onKey}
          onSelect={(event) => setCursor(event.currentTarget.selectionStart)}
          onPaste={onPaste}
        />
        {running && (
          <Tip label="Stop (Esc)">
            <ActionIcon variant="light" color="red" size="lg" aria-label="Stop" className="stop" onClick={stop}>
              <IconPlayerStopFilled size={15} />
            </ActionIcon>
          </Tip>
        )}
        <Tip label={running ? 'Queue (Enter)' : 'Send (Enter)'}>
          <ActionIcon
            size="lg"
            aria-label={running ? 'Queue' : 'Send'}
            disabled={!text.trim() && images.length === 0}
            onClick={() => void send()}
          >
            <IconArrowUp size={17} />
          </ActionIcon>
        </Tip>
      </div>
    </div>
  )
}

/** Escape closes what is open first; only with nothing else to close does it stop the agent. */
function nothingElseIsOpen(): boolean {
  const focused = document.activeElement
  return focused === null || focused === document.body || focused.matches('.chat-scroll, .ask')
}

function Queue({ session, queued, held }: { session: string; queued: QueuedMessage[]; held: boolean }) {
  if (queued.length === 0) return null
  return (
    <ul className="queue" aria-label="Waiting messages">
      {queued.map((one) => (
        <li key={one.id} className="cut">
          <span className="dim">{held ? 'held back' : 'waits'}</span>{' '}
          {one.parts.map((part) => (part.type === 'text' ? part.text : '🖼')).join(' ')}{' '}
          <ActionIcon
            size="xs"
            variant="subtle"
            color="gray"
            aria-label="Withdraw the message"
            onClick={() => void act('queue.remove', { session, queued: one.id })}
          >
            <IconX size={12} />
          </ActionIcon>
        </li>
      ))}
      {held && (
        <li>
          <Button size="compact-xs" variant="light" onClick={() => void act('queue.resume', { session })}>
            Go on with {queued.length === 1 ? 'it' : 'them'}
          </Button>
        </li>
      )}
    </ul>
  )
}

function Attached({ images, remove }: { images: ImagePart[]; remove: (image: ImagePart) => void }) {
  return (
    <ul className="attached" aria-label="Pictures">
      {images.map((image, index) => (
        <li key={index}>
          <IconPhoto size={14} /> picture {index + 1}
          <ActionIcon
            size="xs"
            variant="subtle"
            color="gray"
            aria-label="Remove the picture"
            onClick={() => remove(image)}
          >
            <IconX size={12} />
          </ActionIcon>
        </li>
      ))}
    </ul>
  )
}

async function toPart(file: File): Promise<ImagePart> {
  const data = await new Promise<string>((resolve, reject) => {
    const reader = new FileReader()
    reader.onload = () => resolve(String(reader.result).split(',')[1] ?? '')
    reader.onerror = () => reject(reader.error)
    reader.readAsDataURL(file)
  })
  return { type: 'image', media_type: file.type, data }
}
