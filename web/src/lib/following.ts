import { keepPreviousData, type QueryKey, useQuery } from '@tanstack/react-query'
import { useEffect, useRef } from 'react'
import { useLink } from '@/state/link'

/**
 * What is asked again whenever `at` moves on or the line is back, one question after the other. With `at` in the key
 * each change would begin anew: while changes come faster than answers, nothing would ever be shown.
 */
export function useFollowing<T>(key: QueryKey, at: number, ask: () => Promise<T>, enabled = true) {
  const open = useLink(({ link }) => link.state === 'open')
  const state = JSON.stringify([key, at])
  const asked = useRef('')
  const query = useQuery({
    queryKey: key,
    queryFn: () => {
      asked.current = state
      return ask()
    },
    enabled,
    placeholderData: keepPreviousData,
  })
  const { isFetching, refetch } = query
  useEffect(() => {
    if (!open) asked.current = ''
    else if (enabled && !isFetching && asked.current !== state) {
      // Also when it fails: the next change asks again, nothing else.
      asked.current = state
      void refetch()
    }
  }, [open, enabled, isFetching, state, refetch])
  return query
}
