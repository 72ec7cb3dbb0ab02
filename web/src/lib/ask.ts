import { type UseQueryOptions, useQuery } from '@tanstack/react-query'
import type { OpFields, OpName } from '@/connection/connection'
import type { Results } from '@/protocol/types'
import { daemon } from '@/state/daemon'
import { tell } from './tell'

/** An op as a query: `useAsk('models.list', {})`. Its key is the op's name and fields. */
export function useAsk<K extends OpName>(
  op: K,
  fields: OpFields<K>,
  options: Omit<UseQueryOptions<Results[K]>, 'queryKey' | 'queryFn'> = {},
) {
  return useQuery<Results[K]>({ queryKey: [op, fields], queryFn: () => daemon.request(op, fields), ...options })
}

/** An op that a person asked for: a refusal is shown, and null comes back. */
export async function act<K extends OpName>(op: K, fields: OpFields<K>): Promise<Results[K] | null> {
  try {
    return await daemon.request(op, fields)
  } catch (problem) {
    tellProblem(problem)
    return null
  }
}

export function messageOf(problem: unknown): string {
  return problem instanceof Error ? problem.message : String(problem)
}

export function tellProblem(problem: unknown): void {
  tell({ tone: 'bad', title: 'This did not work', text: messageOf(problem) })
}
