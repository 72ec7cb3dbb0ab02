import { useNavigate } from '@tanstack/react-router'
import { useEffect } from 'react'
import { create } from 'zustand'
import { firstLine, lastLine } from '@/lib/format'
import { plainWords } from '@/lib/plain'
import { tell } from '@/lib/tell'
import { wordsForEnd } from '@/lib/turn-words'
import type { AnyEvent } from '@/protocol/types'
import { daemon } from '@/state/daemon'
import { useOverview } from '@/state/overview'

const KEY = 'openagent.notify'
export const canNotify = 'Notification' in window

/** Whether this browser tells of sessions while the person looks elsewhere. Asked for by a button, never at the start. */
export const useNotify = create<{ on: boolean }>(() => ({
  on: canNotify && Notification.permission === 'granted' && localStorage.getItem(KEY) === 'on',
}))

export async function switchNotifying(): Promise<void> {
  if (!canNotify) return
  const on = !useNotify.getState().on && (await Notification.requestPermission()) === 'granted'
  if (!on && Notification.permission === 'denied')
    tell({
      tone: 'warn',
      title: 'The browser refuses notifications',
      text: 'Allow them for this address in its settings, then try again.',
    })
  localStorage.setItem(KEY, on ? 'on' : 'off')
  useNotify.setState({ on })
}

interface Note {
  title: string
  body: string
}

/** What of an event is worth calling somebody back for. */
export function noteOf(event: AnyEvent, name: string): Note | null {
  switch (event.type) {
    case 'permission.requested':
      return { title: `${name} needs you`, body: firstLine(event.ask.summary) }
    case 'question.asked':
      return { title: `${name} asks`, body: firstLine(event.question.text) }
    case 'turn.completed':
      if (event.reason === 'done') return { title: `${name} is done`, body: lastLine(plainWords(event.text ?? '')) }
      return event.reason === 'cancelled' ? null : { title: `${name} stopped`, body: wordsForEnd(event).text }
    default:
      return null
  }
}

/** Told only to who looks elsewhere; a click leads to the session. */
export function useNotifying(): void {
  const on = useNotify((state) => state.on)
  const navigate = useNavigate()
  useEffect(() => {
    if (!on) return
    return daemon.listen((event) => {
      const info = useOverview.getState().cards[event.session ?? '']?.info
      if (!info || info.parent || document.hasFocus()) return
      const note = noteOf(event, info.name || 'A session')
      if (note) show(note, info.id, () => void navigate({ to: '/sessions/$id', params: { id: info.id } }))
    })
  }, [on, navigate])
}

function show({ title, body }: Note, session: string, open: () => void): void {
  try {
    const shown = new Notification(title, { body, tag: session, icon: '/icon.svg' })
    shown.onclick = () => {
      window.focus()
      open()
      shown.close()
    }
  } catch {
    // Some phones let only installed apps notify; the title and the icon still count.
  }
}
