import { Button } from '@mantine/core'
import { act } from '@/lib/ask'
import type { LapsedAsk } from '@/protocol/types'
import { aboutTool } from '../tool-words'
import './asks.css'

interface Props {
  session: string
  lapsed: LapsedAsk[]
}

/** What nobody answered in time: what happened, and the way to be asked again. */
export function Lapsed({ session, lapsed }: Props) {
  return (
    <section className="ask ask-over" aria-label="Nobody answered in time">
      <header className="ask-head">
        <strong>Nobody answered in time, so this was not done</strong>
      </header>
      <ul className="ask-lapsed">
        {lapsed.map((each) => (
          <li key={each.id} className="mono">
            {whatOf(each)}
          </li>
        ))}
      </ul>
      <div className="ask-actions">
        <Button size="xs" onClick={() => void act('ask.again', { session })}>
          Ask again
        </Button>
        <Button size="xs" variant="subtle" color="gray" onClick={() => void act('ask.again', { session, drop: true })}>
          Let it go
        </Button>
      </div>
    </section>
  )
}

export function whatOf({ permission, question }: LapsedAsk): string {
  if (!permission) return question?.text ?? ''
  const { tool, summary } = permission
  return [aboutTool(tool).words[0], summary === tool ? '' : summary].join(' ').trim()
}
