import { useMediaQuery } from '@mantine/hooks'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { useCallback, useEffect, useMemo } from 'react'
import { keep, keptOf } from './kept'
import type { Beside, Place, Tab } from './place'

/** Below this the conversation and what stands beside it are tabs. */
export const TOO_NARROW = '(max-width: 900px)'

export interface Going {
  place: Place
  narrow: boolean
  tab: Tab | 'chat'
  /** In place of the conversation; `chat` is the conversation with whatever stood beside it. */
  toTab: (tab: Tab | 'chat') => void
  /** Beside the conversation; without a name what was there last. */
  toBeside: (beside?: Beside, more?: Pick<Place, 'file' | 'line' | 'agent'>) => void
  closeBeside: () => void
  /** A file where files are shown: in the tab when that is open, beside the conversation otherwise. */
  openFile: (file: string, line?: number, replace?: boolean) => void
}

/** Where a person is in a session, and the ways from there. What stands beside the conversation is kept for each session. */
export function usePlace(session: string): Going {
  const place = useSearch({ from: '/sessions/$id' })
  const navigate = useNavigate()
  const narrow = useMediaQuery(TOO_NARROW, false, { getInitialValueInEffect: false }) ?? false
  const { tab, beside, file, line, agent, at } = place

  const go = useCallback(
    (search: Place, replace = false) =>
      void navigate({ to: '/sessions/$id', params: { id: session }, search, replace }),
    [navigate, session],
  )
  useEffect(() => {
    if (beside) keep(session, { open: true, beside, file, line, agent })
  }, [session, beside, file, line, agent])
  useEffect(() => {
    const { open, ...kept } = keptOf(session)
    if (tab || beside || narrow || !open || !kept.beside) return
    go({ beside: kept.beside, file: kept.file, line: kept.line, agent: kept.agent, at }, true)
  }, [session, tab, beside, narrow, at, go])

  return useMemo(() => {
    const toBeside: Going['toBeside'] = (next, more = {}) => {
      const kept = keptOf(session)
      go({
        file: file ?? kept.file,
        line: file ? line : kept.line,
        agent: agent ?? kept.agent,
        ...more,
        beside: next ?? kept.beside ?? 'files',
      })
    }
    return {
      place,
      narrow,
      tab: tab ?? (narrow && beside && beside !== 'agent' ? beside : 'chat'),
      toTab: (next) => go(next === 'chat' ? {} : { tab: next, file: file ?? keptOf(session).file }),
      toBeside,
      closeBeside: () => {
        keep(session, { open: false })
        go({})
      },
      openFile: (path, at, replace) => {
        const where: Place = tab === 'files' || narrow ? { tab: 'files' } : { beside: 'files', agent }
        go({ ...where, file: path, line: at }, replace)
      },
    }
  }, [session, place, narrow, tab, beside, file, line, agent, go])
}
