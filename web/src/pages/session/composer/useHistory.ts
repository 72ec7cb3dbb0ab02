import { useState } from 'react'
import type { Message } from '@/protocol/types'

/** ↑ in an empty input brings back what was said before, ↓ leads to the newest again. */
export function useHistory(messages: Message[], set: (text: string) => void) {
  const [back, setBack] = useState(0)
  const said = messages
    .filter(({ role }) => role === 'user')
    .map(({ parts }) => parts.map((part) => (part.type === 'text' ? part.text : '')).join(''))
    .filter((text, place, all) => text.trim() !== '' && text !== all[place + 1])
  const step = (by: number): boolean => {
    const place = back + by
    if (place < 0 || place > said.length) return false
    setBack(place)
    set(place === 0 ? '' : (said[said.length - place] ?? ''))
    return true
  }
  return { back, step, leave: () => setBack(0) }
}
