import { useNavigate } from '@tanstack/react-router'
import type { SessionInfo } from '@/protocol/types'
import { useKeys } from '@/shell/shortcuts'
import { useOverview } from '@/state/overview'

/** Into the newest of those that work for a session, and back to whom it works for. */
export function useAgentKeys(info: SessionInfo): void {
  const navigate = useNavigate()
  const to = (id: string) => void navigate({ to: '/sessions/$id', params: { id } })
  const into = () => {
    const below = Object.values(useOverview.getState().cards).filter((card) => card.info.parent === info.id)
    const newest = below.sort((one, other) => other.info.created_at - one.info.created_at)[0]
    if (newest) to(newest.info.id)
  }
  const { parent } = info
  useKeys('Agents', [
    { keys: 'i', what: 'Into the newest sub-agent', run: into },
    ...(parent ? [{ keys: 'b', what: 'Back to its caller', run: () => to(parent) }] : []),
  ])
}
