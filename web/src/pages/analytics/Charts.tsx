import '@mantine/charts/styles.css'
import { BarChart, LineChart } from '@mantine/charts'
import { cost, duration, money, tokens } from '@/lib/format'
import { bars, Chart, frame, shortDay, unbroken } from './Chart'
import type { Day } from './days'

const seconds = (value: number) => unbroken(duration(value * 1000))

export default function Charts({ days, unpriced }: { days: Day[]; unpriced: number }) {
  const common = { ...frame, data: days.map((day) => ({ ...day, day: shortDay(day.day) })), dataKey: 'day' }
  const lines = {
    lineChartProps: { accessibilityLayer: false },
    curveType: 'linear' as const,
    dotProps: { r: 2 },
    lineProps: { isAnimationActive: false },
  }
  const sum = (pick: (day: Day) => number) => days.reduce((total, day) => total + pick(day), 0)
  return (
    <div className="charts">
      <Chart
        title="Cost by day"
        told={`${cost(
          sum((day) => day.cost),
          unpriced,
        )} in ${days.length} days.`}
      >
        <BarChart
          {...common}
          {...bars}
          series={[{ name: 'cost', label: 'Cost', color: 'indigo.5' }]}
          valueFormatter={money}
        />
      </Chart>
      <Chart
        title="Tokens by day"
        told={`${tokens(sum((day) => day.sent))} sent anew, ${tokens(sum((day) => day.cached))} read from cache, ${tokens(sum((day) => day.received))} received.`}
        legend={[
          ['sent anew', 'var(--mantine-color-indigo-5)'],
          ['from cache', 'var(--oa-chart-quiet)'],
          ['received', 'var(--mantine-color-teal-5)'],
        ]}
      >
        <BarChart
          {...common}
          {...bars}
          type="stacked"
          series={[
            { name: 'sent', label: 'Sent anew', color: 'indigo.5' },
            { name: 'cached', label: 'From cache', color: 'var(--oa-chart-quiet)' },
            { name: 'received', label: 'Received', color: 'teal.5' },
          ]}
          valueFormatter={tokens}
        />
      </Chart>
      <Chart
        title="Time to answer"
        told={told(
          days,
          (day) => day.latency,
          (value) => `median of the last day: ${duration(value * 1000)}`,
        )}
        legend={[
          ['median', 'var(--mantine-color-indigo-5)'],
          ['95 of 100', 'var(--mantine-color-gray-5)'],
        ]}
      >
        <LineChart
          {...common}
          {...lines}
          connectNulls
          series={[
            { name: 'latency', label: 'Median', color: 'indigo.5' },
            { name: 'slow', label: '95 of 100', color: 'gray.5' },
          ]}
          valueFormatter={seconds}
        />
      </Chart>
      <Chart
        title="Errors by day"
        told={`${sum((day) => day.failed)} errors, ${sum((day) => day.retried)} more tried again.`}
        legend={[
          ['ended the turn', 'var(--mantine-color-red-6)'],
          ['tried again', 'var(--mantine-color-yellow-5)'],
        ]}
      >
        <BarChart
          {...common}
          {...bars}
          type="stacked"
          series={[
            { name: 'failed', label: 'Ended the turn', color: 'red.6' },
            { name: 'retried', label: 'Tried again', color: 'yellow.5' },
          ]}
          yAxisProps={{ ...common.yAxisProps, allowDecimals: false }}
        />
      </Chart>
      <Chart
        title="Read from cache"
        told={told(
          days,
          (day) => day.cachedShare,
          (share) => `${Math.round(share)} % of the input on the last day`,
        )}
      >
        <LineChart
          {...common}
          {...lines}
          connectNulls
          series={[{ name: 'cachedShare', label: 'Of the input', color: 'indigo.5' }]}
          yAxisProps={{ ...common.yAxisProps, domain: [0, 100] }}
          valueFormatter={(share) => unbroken(`${Math.round(share)} %`)}
        />
      </Chart>
    </div>
  )
}

function told(days: Day[], pick: (day: Day) => number | null, words: (value: number) => string): string {
  const last = days.map(pick).findLast((value) => value !== null)
  return last === null || last === undefined ? 'Nothing was measured.' : words(last)
}
