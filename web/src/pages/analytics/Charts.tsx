import '@mantine/charts/styles.css'
import { BarChart, LineChart } from '@mantine/charts'
import type { ReactNode } from 'react'
import { duration, money, tokens } from '@/lib/format'
import type { Day } from './days'

const HEIGHT = 200
const shortDay = (day: string) =>
  new Date(`${day}T12:00`).toLocaleDateString('en-GB', { day: 'numeric', month: 'short' })

export default function Charts({ days }: { days: Day[] }) {
  const common = {
    h: HEIGHT,
    data: days.map((day) => ({ ...day, day: shortDay(day.day) })),
    dataKey: 'day',
    tickLine: 'none' as const,
    gridAxis: 'x' as const,
    strokeDasharray: '2 4',
    yAxisProps: { width: 52, tickMargin: 4 },
    xAxisProps: { minTickGap: 24 },
  }
  const bars = {
    barChartProps: { accessibilityLayer: false },
    maxBarWidth: 28,
    barProps: { isAnimationActive: false },
  }
  const lines = {
    lineChartProps: { accessibilityLayer: false },
    curveType: 'linear' as const,
    dotProps: { r: 2 },
    lineProps: { isAnimationActive: false },
  }
  const sum = (pick: (day: Day) => number) => days.reduce((total, day) => total + pick(day), 0)
  return (
    <div className="charts">
      <Chart title="Cost by day" told={`${money(sum((day) => day.cost))} in ${days.length} days.`}>
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
          ['sent anew', 'indigo-5'],
          ['from cache', 'indigo-2'],
          ['received', 'teal-5'],
        ]}
      >
        <BarChart
          {...common}
          {...bars}
          type="stacked"
          series={[
            { name: 'sent', label: 'Sent anew', color: 'indigo.5' },
            { name: 'cached', label: 'From cache', color: 'indigo.2' },
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
          (seconds) => `median of the last day: ${duration(seconds * 1000)}`,
        )}
        legend={[
          ['median', 'indigo-5'],
          ['95 of 100', 'gray-5'],
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
          valueFormatter={(seconds) => duration(seconds * 1000)}
        />
      </Chart>
      <Chart
        title="Errors by day"
        told={`${sum((day) => day.failed)} errors, ${sum((day) => day.retried)} more tried again.`}
        legend={[
          ['ended the turn', 'red-6'],
          ['tried again', 'yellow-5'],
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
          valueFormatter={(share) => `${Math.round(share)} %`}
        />
      </Chart>
    </div>
  )
}

function told(days: Day[], pick: (day: Day) => number | null, words: (value: number) => string): string {
  const last = days.map(pick).findLast((value) => value !== null)
  return last === null || last === undefined ? 'Nothing was measured.' : words(last)
}

/** A picture of figures, and what it shows in a sentence for those who do not see it. */
function Chart(props: { title: string; told: string; legend?: [string, string][]; children: ReactNode }) {
  return (
    <figure className="chart panel" aria-label={`${props.title}. ${props.told}`}>
      <figcaption>
        <h2>{props.title}</h2>
        {props.legend?.map(([word, colour]) => (
          <span key={word} className="chart-key">
            <span style={{ background: `var(--mantine-color-${colour})` }} />
            {word}
          </span>
        ))}
      </figcaption>
      <div aria-hidden="true">{props.children}</div>
    </figure>
  )
}
