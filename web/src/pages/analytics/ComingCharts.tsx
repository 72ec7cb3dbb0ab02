import { Skeleton } from '@mantine/core'

/** In the place of charts that are on their way, as large as they will be. */
export function ComingCharts({ count }: { count: number }) {
  return (
    <div className="charts" role="status" aria-label="Loading">
      {Array.from({ length: count }, (_, index) => (
        <div key={index} className="chart panel">
          <div className="chart-head">&nbsp;</div>
          <Skeleton className="chart-place" />
        </div>
      ))}
    </div>
  )
}
