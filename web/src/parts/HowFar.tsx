import { Progress } from '@mantine/core'
import { type ReactNode, useEffect, useRef, useState } from 'react'
import type { AnyEvent, HistoryProgress, IndexProgress, PullProgress } from '@/protocol/types'
import { daemon } from '@/state/daemon'
import './how-far.css'

/** How far something is that takes its time: in words, and as a bar as long as there is anything to measure. */
export function HowFar(props: { stage: string; done?: number; total?: number; measure?: ReactNode }) {
  const { stage, done = 0, total = 0 } = props
  const measured = total > 0
  return (
    <div className="how-far" role="status">
      <Progress
        value={measured ? Math.min(100, (100 * done) / total) : 100}
        animated={!measured}
        size="sm"
        aria-label={stage}
      />
      <div className="how-far-words">
        <span>{stage}</span>
        {measured && <span className="mono">{props.measure ?? `${Math.floor((100 * done) / total)} %`}</span>}
      </div>
    </div>
  )
}

/** How far the fetching of a model or a library is; null when nothing was said yet. */
export function usePulled(name: string): PullProgress | null {
  return useNewest((event) => event.type === 'models.progress' && event.model === name && event)
}

/** How far the building of an index is, or the setting up of its model; null when nothing was said yet. */
export function useIndexed(): IndexProgress | null {
  return useNewest((event) => event.type === 'index.progress' && event)
}

/** How far the reading of other agents’ sessions is; null when nothing was said yet. */
export function useRead(): HistoryProgress | null {
  return useNewest((event) => event.type === 'history.progress' && event)
}

function useNewest<T>(pick: (event: AnyEvent) => T | false): T | null {
  const [newest, setNewest] = useState<T | null>(null)
  const picking = useRef(pick)
  picking.current = pick
  useEffect(
    () =>
      daemon.listen((event) => {
        const picked = picking.current(event)
        if (picked) setNewest(picked)
      }),
    [],
  )
  return newest
}
