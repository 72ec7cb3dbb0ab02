interface Props {
  values: number[]
  width?: number
  height?: number
  /** Its place is kept while there is nothing to draw. */
  held?: boolean
}

/** A small line of what a number did lately. Decoration: the number itself stands beside it. */
export function Spark({ values, width = 56, height = 16, held = false }: Props) {
  if (values.length < 2) return held ? <svg width={width} height={height} aria-hidden="true" className="spark" /> : null
  const top = Math.max(...values, 1e-9)
  const step = width / (values.length - 1)
  const points = values.map(
    (value, index) => `${(index * step).toFixed(1)},${(height - 1 - (value / top) * (height - 2)).toFixed(1)}`,
  )
  return (
    <svg width={width} height={height} aria-hidden="true" className="spark">
      <polyline
        points={points.join(' ')}
        fill="none"
        stroke="var(--oa-accent)"
        strokeWidth={1.5}
        strokeLinejoin="round"
      />
    </svg>
  )
}
