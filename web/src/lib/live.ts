import { useQueryClient } from '@tanstack/react-query'
import { useCallback, useEffect } from 'react'
import type { OpName } from '@/connection/connection'
import type { AnyEvent } from '@/protocol/types'
import { daemon } from '@/state/daemon'
import { useLink } from '@/state/link'

/** Asks again what these ops answer, wherever it is shown. */
export function useRenew(...ops: OpName[]): () => Promise<void> {
  const queries = useQueryClient()
  const names = ops.join(' ')
  return useCallback(async () => {
    await Promise.all(names.split(' ').map((op) => queries.invalidateQueries({ queryKey: [op] })))
  }, [queries, names])
}

/** Events that come close together lead to one question. */
const TOGETHER = 150

/** Asks again what these ops answer after one of these events. */
export function useRenewAfter(types: AnyEvent['type'][], ...ops: OpName[]): void {
  const renew = useRenew(...ops)
  const wanted = types.join(' ')
  useEffect(() => {
    let timer = 0
    const stop = daemon.listen((event) => {
      if (!wanted.split(' ').includes(event.type) || timer) return
      timer = window.setTimeout(() => {
        timer = 0
        void renew()
      }, TOGETHER)
    })
    return () => {
      clearTimeout(timer)
      stop()
    }
  }, [wanted, renew])
}

/** Keeps what these ops answer fresh: asked again after one of these events, and when the line is back. */
export function useLive(types: AnyEvent['type'][], ...ops: OpName[]): void {
  useRenewAfter(types, ...ops)
  const renew = useRenew(...ops)
  const open = useLink(({ link }) => link.state === 'open')
  useEffect(() => {
    if (open) void renew()
  }, [open, renew])
}
