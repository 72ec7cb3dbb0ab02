import '@mantine/charts/styles.css'
import { BarChart } from '@mantine/charts'
import { cost, money, tokens } from '@/lib/format'
import type { AllUsage } from '@/protocol/types'
import { slices } from './all-agents'
import { bars, Chart, frame, shortDay, unbroken } from './Chart'

/** Ours is the accent, and none is a colour that tells how something went. */
const COLOURS = ['indigo.5', 'teal.5', 'violet.4', 'cyan.6', 'grape.4', 'gray.5', 'blue.3']

const labelOf = (key: string) =>
  key.length > 7
    ? shortDay(key)
    : unbroken(new Date(`${key}-15`).toLocaleDateString('en-GB', { month: 'short', year: 'numeric' }))

/** What all agents cost and used, each in its colour. */
export default function AgentCharts({ used }: { used: AllUsage }) {
  const { by, total, agents, parts = [] } = used
  const names = agents.map(({ key }) => key)
  const ordered = [...names.filter((name) => name === 'OpenAgent'), ...names.filter((name) => name !== 'OpenAgent')]
  const first = ordered[0] === 'OpenAgent' ? 0 : 1
  const series = ordered.map((name, index) => ({ name, color: COLOURS[(index + first) % COLOURS.length]! }))
  const legend = series.map(({ name, color }): [string, string] => [
    name,
    `var(--mantine-color-${color.replace('.', '-')})`,
  ])
  const data = (measure: 'cost_usd' | 'tokens') =>
    slices(parts, measure).map((slice) => ({ ...slice, key: labelOf(slice.key) }))
  const share = agents.map((row) => `${row.key} ${cost(row.cost_usd, row.unpriced ?? 0)}`).join(', ')
  const sum = tokens((total.usage.input_tokens ?? 0) + (total.usage.output_tokens ?? 0))
  return (
    <div className="charts">
      <Chart title={`Cost by ${by}`} told={`${cost(total.cost_usd, total.unpriced ?? 0)}: ${share}.`} legend={legend}>
        <BarChart
          {...frame}
          {...bars}
          data={data('cost_usd')}
          dataKey="key"
          type="stacked"
          series={series}
          valueFormatter={money}
        />
      </Chart>
      <Chart title={`Tokens by ${by}`} told={`${sum} sent and received.`} legend={legend}>
        <BarChart
          {...frame}
          {...bars}
          data={data('tokens')}
          dataKey="key"
          type="stacked"
          series={series}
          valueFormatter={tokens}
        />
      </Chart>
    </div>
  )
}
