import { type KeyboardEvent, useState } from 'react'
import type { McpPrompt, McpResource } from '@/protocol/types'
import type { Suggestion } from './useSuggestions'
import { wordAt } from './words'

/** A suggestion that is opened before it goes into the text, and where it then goes. */
export interface Opened {
  prompt?: McpPrompt
  resource?: McpResource
  put: (written: string) => void
}

/** The list of what fits the word before the cursor. While it is open, Enter and Tab choose and send nothing. */
export function useList(text: string, put: (text: string, cursor: number) => void, open: (opened: Opened) => void) {
  const [cursor, setCursor] = useState(0)
  const [chosen, setChosen] = useState(0)
  const [closed, setClosed] = useState(true)
  const found = closed ? null : wordAt(text, cursor)
  const [all, tell] = useState<Suggestion[]>([])
  const shown = found ? all : []
  const write = (start: number, written: string) => {
    put(text.slice(0, start) + written + text.slice(cursor), start + written.length)
    setCursor(start + written.length)
  }
  const close = () => {
    setChosen(0)
    setClosed(true)
  }
  const take = (one: Suggestion) => {
    if (!found) return
    if (one.prompt || one.resource?.is_template) lookInto(one)
    else write(found.start, one.text)
    close()
  }
  const lookInto = ({ prompt, resource }: Suggestion) => {
    const start = found?.start ?? 0
    open({ prompt, resource, put: (written) => write(start, written) })
    close()
  }
  const onKey = (event: KeyboardEvent): boolean => {
    const one = shown[chosen]
    if (!one || !found) return false
    // Whoever typed the whole name means it: no second Enter.
    const finished = !one.prompt && one.text.trim() === text.slice(found.start, cursor)
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey) && one.resource) lookInto(one)
    else if (event.key === 'ArrowDown') setChosen((chosen + 1) % shown.length)
    else if (event.key === 'ArrowUp') setChosen((chosen + shown.length - 1) % shown.length)
    else if (event.key === 'Tab' && !event.shiftKey) take(one)
    else if (event.key === 'Enter' && !event.shiftKey && !finished) take(one)
    else if (event.key === 'Escape') setClosed(true)
    else return false
    event.preventDefault()
    event.stopPropagation()
    return true
  }
  const look = (at: number) => {
    setCursor(at)
    setChosen(0)
    setClosed(false)
  }
  return {
    found,
    tell,
    shown,
    chosen: Math.min(chosen, Math.max(0, shown.length - 1)),
    take,
    lookInto,
    onKey,
    look,
    move: setCursor,
    close: () => setClosed(true),
  }
}
