import { type UseQueryOptions, useQuery } from '@tanstack/react-query'
import type { OpFields, OpName } from '@/connection/connection'
import type { Results } from '@/protocol/types'
import { daemon } from '@/state/daemon'
import { tell } from './tell'
import { wayOn } from './way-on'

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
  const way = wayOn(problem)
  const action = way ? { label: way.label, run: () => void goTo(way.to) } : undefined
  tell({ tone: 'bad', title: 'This did not work', text: messageOf(problem), action })
}

/** The router knows the pages, and pages ask: it is looked up when somebody goes. */
async function goTo(to: string): Promise<void> {
  const { router } = await import('@/router')
  await router.navigate({ to })
}
