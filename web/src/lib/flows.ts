import type { SessionInfo } from '@/protocol/types'

/** A session that a flow runs in: its one way to work is the flow (agents/flows.py). */
export function isFlow(info: Pick<SessionInfo, 'settings'>): boolean {
  return info.settings?.tools?.includes('flow') ?? false
}
