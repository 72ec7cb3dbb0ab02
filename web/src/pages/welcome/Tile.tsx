import { Button } from '@mantine/core'
import type { ReactNode } from 'react'
import { Problem } from '@/parts/Form'

/** One way to a model: what it is, a line about it, and the step to take. What goes wrong is said in it. */
export function Tile(props: {
  icon: ReactNode
  title: string
  note: ReactNode
  mark?: string
  action?: { label: string; hidden?: string; run: () => void; busy?: boolean; strong?: boolean }
  problem?: string
  wide?: boolean
  children?: ReactNode
}) {
  const { action } = props
  return (
    <li className={props.wide ? 'tile tile-wide panel' : 'tile panel'}>
      <div className="tile-line">
        <span className="tile-icon" aria-hidden>
          {props.icon}
        </span>
        <div className="tile-words">
          <h3>
            {props.title}
            {props.mark && <span className="tile-mark">{props.mark}</span>}
          </h3>
          <p>{props.note}</p>
        </div>
      </div>
      {props.children}
      <Problem text={props.problem ?? ''} />
      {action && (
        <Button
          className="tile-action"
          variant={action.strong ? 'filled' : 'default'}
          loading={action.busy}
          onClick={action.run}
        >
          {action.label}
          {action.hidden && <span className="visually-hidden"> {action.hidden}</span>}
        </Button>
      )}
    </li>
  )
}
