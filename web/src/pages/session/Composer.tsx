import { ActionIcon, Textarea } from '@mantine/core'
import { IconArrowUp, IconPhoto, IconPlayerStopFilled, IconX } from '@tabler/icons-react'
import { type ClipboardEvent, type KeyboardEvent, useEffect, useRef, useState } from 'react'
import { act, tellProblem } from '@/lib/ask'
import { Tip } from '@/parts/Tip'
import type { ImagePart, QueuedMessage } from '@/protocol/types'
import { useKeys } from '@/shell/shortcuts'
import { type Conversation, isRunning } from '@/state/conversation'
import './composer.css'

const drafts = new Map<string, string>()
const PICTURES = ['image/png', 'image/jpeg', 'image/gif', 'image/webp']

export function Composer({ conversation }: { conversation: Conversation }) {
  const { info, queued } = conversation
  const session = info.id
  const running = isRunning(info)
  const input = useRef<HTMLTextAreaElement>(null)
  const [text, setText] = useState(drafts.get(session) ?? '')
  const [images, setImages] = useState<ImagePart[]>([])
  const [back, setBack] = useState(0)
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

  const onKey = (event: KeyboardEvent) => {
    if (event.nativeEvent.isComposing) return
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
    ...(running ? [{ keys: 'escape', what: 'Stop', run: stop }] : []),
  ])

  return (
    <div className="composer">
      <Queue queued={queued} />
      {images.length > 0 && (
        <Attached images={images} remove={(gone) => setImages(images.filter((one) => one !== gone))} />
      )}
      <div className="composer-box">
        <Textarea
          ref={input}
          aria-label="Message"
          placeholder={running ? 'Say more: it waits until this turn has ended' : 'Message, or !command for the shell'}
          autosize
          minRows={1}
          maxRows={12}
          variant="unstyled"
          className="composer-input"
          value={text}
          onChange={(event) => {
            setText(event.currentTarget.value)
            setBack(0)
          }}
          onKeyDown={onKey}
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

function Queue({ queued }: { queued: QueuedMessage[] }) {
  if (queued.length === 0) return null
  return (
    <ul className="queue" aria-label="Waiting messages">
      {queued.map((one) => (
        <li key={one.id} className="cut">
          <span className="dim">waits</span>{' '}
          {one.parts.map((part) => (part.type === 'text' ? part.text : '🖼')).join(' ')}
        </li>
      ))}
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
