import { Button, Skeleton } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { wayOn } from '@/lib/way-on'
import './states.css'

/** Nothing here yet: one sentence that teaches, one action. */
export function EmptyState(props: { icon: ReactNode; title: string; children: ReactNode; action?: ReactNode }) {
  return (
    <div className="state">
      <div className="state-icon" aria-hidden>
        {props.icon}
      </div>
      <h2>{props.title}</h2>
      <p>{props.children}</p>
      {props.action}
    </div>
  )
}

/** It did not work: what and why, and a way to try again. */
export function ErrorState({ problem, retry }: { problem: unknown; retry?: () => void }) {
  const way = wayOn(problem)
  return (
    <div className="state" role="alert">
      <h2>This did not work</h2>
      <p>{problem instanceof Error ? problem.message : String(problem)}</p>
      {way && (
        <Button component={Link} to={way.to}>
          {way.label}
        </Button>
      )}
      {retry && (
        <Button variant="default" onClick={retry}>
          Try again
        </Button>
      )}
    </div>
  )
}

/** Lines of a list that is on its way. */
export function LoadingRows({ count = 6, height = 36 }: { count?: number; height?: number }) {
  return (
    <div className="state-rows" role="status" aria-label="Loading">
      {Array.from({ length: count }, (_, index) => (
        <Skeleton key={index} height={height} radius="sm" />
      ))}
    </div>
  )
}
