import { useEffect, useState } from 'react'
import type { AgentMetrics } from '@/protocol/types'
import { daemon } from '@/state/daemon'
import { useLink } from '@/state/link'

const EVERY = 2
const BEATS = 30

export interface LiveAgent {
  now: AgentMetrics
  /** Tokens from one beat to the next, the newest last. */
  paces: number[]
}

/** How these agents do, beat by beat, for as long as somebody looks. */
export function useLiveAgents(ids: string[]): Record<string, LiveAgent> {
  const [live, setLive] = useState<Record<string, LiveAgent>>({})
  const isOpen = useLink((state) => state.link.state === 'open')
  const key = ids.join(' ')
  useEffect(() => {
    if (!isOpen || !key) return
    const stop = daemon.listen((event) => {
      if (event.type === 'metrics' && event.agents?.length) setLive((known) => withBeat(known, event.agents ?? []))
    })
    void daemon.request('metrics.subscribe', { agents: key.split(' '), every: EVERY }).catch(() => {})
    return () => {
      stop()
      void daemon.request('metrics.subscribe', { on: false }).catch(() => {})
    }
  }, [isOpen, key])
  return live
}

export function withBeat(known: Record<string, LiveAgent>, agents: AgentMetrics[]): Record<string, LiveAgent> {
  return Object.fromEntries(agents.map((now) => [now.id, beat(known[now.id], now)]))
}

function beat(before: LiveAgent | undefined, now: AgentMetrics): LiveAgent {
  if (!before) return { now, paces: [] }
  const tokens = ({ usage }: AgentMetrics) => (usage.tokens?.output_tokens ?? 0) + (usage.tokens?.input_tokens ?? 0)
  const more = Math.max(0, tokens(now) - tokens(before.now))
  return { now, paces: [...before.paces, more].slice(-BEATS) }
}
