import { firstLine } from '@/lib/format'
import type { Conversation } from '@/state/conversation'

/** What the person asked for in each turn, as far as it is loaded. What was only given along says nothing of it. */
export function askedIn({ messages }: Pick<Conversation, 'messages'>): Map<number, string> {
  const asked = new Map<number, string>()
  for (const { role, turn, parts } of messages) {
    if (role !== 'user' || turn === undefined || asked.has(turn)) continue
    const words = firstLine(parts.map((part) => (part.type === 'text' ? part.text : '')).join(' '))
    if (words.trim()) asked.set(turn, words)
  }
  return asked
}
