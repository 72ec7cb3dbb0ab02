import { useInfiniteQuery } from '@tanstack/react-query'
import { useAsk } from '@/lib/ask'
import type { SessionInfo } from '@/protocol/types'
import { daemon } from '@/state/daemon'

/** How many sessions of other agents are here in which nothing was said yet, by agent. */
export function useBroughtCounts(): { byAgent: Record<string, number>; total: number } {
  const byAgent = useAsk('session.list', { brought: false, limit: 1 }).data?.brought ?? {}
  return { byAgent, total: Object.values(byAgent).reduce((sum, count) => sum + count, 0) }
}

/** Those sessions, page by page, the one last active first. */
export function useBroughtSessions(agent: string, query: string, limit: number) {
  return useInfiniteQuery({
    queryKey: ['session.list', { brought: true, agent, query, limit }],
    queryFn: ({ pageParam }) =>
      daemon.request('session.list', {
        ...{ brought: true, roots: true, archived: false, agent, query, limit },
        ...(pageParam && { before: pageParam.updated_at, before_id: pageParam.id }),
      }),
    initialPageParam: null as SessionInfo | null,
    getNextPageParam: (page) => (page.next == null ? undefined : page.sessions.at(-1)),
    placeholderData: (before) => before,
  })
}
