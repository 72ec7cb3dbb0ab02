import { type ReactNode, useEffect, useState } from 'react'

const HEIGHT = 200
/** A label of an axis is one line: its spaces do not break. */
export const unbroken = (text: string) => text.replaceAll(' ', '\u00a0')
export const shortDay = (day: string) =>
  unbroken(new Date(`${day}T12:00`).toLocaleDateString('en-GB', { day: 'numeric', month: 'short' }))

/** What all charts over days have in common. */
export const frame = {
  h: HEIGHT,
  tickLine: 'none' as const,
  gridAxis: 'x' as const,
  strokeDasharray: '2 4',
  yAxisProps: { width: 52, tickMargin: 4 },
  xAxisProps: { minTickGap: 24 },
}

export const bars = {
  barChartProps: { accessibilityLayer: false },
  maxBarWidth: 28,
  barProps: { isAnimationActive: false },
}

/** A picture of figures, and what it shows in a sentence for those who do not see it. */
export function Chart(props: { title: string; told: string; legend?: [string, string][]; children: ReactNode }) {
  const mine = useTurn()
  return (
    <figure className="chart panel" aria-label={`${props.title}. ${props.told}`}>
      <figcaption>
        <h2>{props.title}</h2>
        {props.legend?.map(([word, colour]) => (
          <span key={word} className="chart-key">
            <span style={{ background: colour }} />
            {word}
          </span>
        ))}
      </figcaption>
      <div aria-hidden="true" className="chart-place">
        {mine && props.children}
      </div>
    </figure>
  )
}

let turns: Promise<void> = Promise.resolve()

/** Charts are drawn one after another, each when the browser has time: all at once they would hold up the page. */
function useTurn(): boolean {
  const [mine, setMine] = useState(false)
  useEffect(() => {
    let wanted = true
    turns = turns.then(async () => {
      if (!wanted) return
      await new Promise<void>((resolve) => setTimeout(resolve))
      if (wanted) setMine(true)
    })
    return () => {
      wanted = false
    }
  }, [])
  return mine
}
