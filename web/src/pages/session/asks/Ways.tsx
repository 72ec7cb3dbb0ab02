import { Button } from '@mantine/core'
import { Words } from '@/parts/Words'
import type { PermissionChoice } from '@/protocol/types'
import type { Way } from './words'

interface Props {
  ways: Way[]
  /** High risk: nothing invites to be pressed, and nothing can be before all of it was in sight. */
  high: boolean
  unread: boolean
  /** Its end is out of sight. */
  below: boolean
  busy: boolean
  why: boolean
  allow: (choice: PermissionChoice) => void
  deny: () => void
  denyBecause: () => void
  toggleWhy: () => void
}

/** The answers there are, each with what it covers. */
export function Ways(props: Props) {
  const { ways, busy, unread } = props
  return (
    <>
      {unread && props.below && (
        <p className="ask-unread" role="status">
          High risk: read it to the end before you allow it. <kbd>j</kbd> and <kbd>k</kbd> scroll, <kbd>v</kbd> shows
          all of it.
        </p>
      )}
      <ul className="ask-ways" aria-label="Ways to allow it">
        {ways.map(({ key, label, choice }) => (
          <li key={choice.id}>
            <Button
              size="xs"
              variant={choice.scope === 'once' && !props.high ? 'filled' : 'default'}
              disabled={busy || unread}
              onClick={() => props.allow(choice)}
              rightSection={key && <kbd>{key}</kbd>}
            >
              {label}
            </Button>
            <span className="ask-covers">
              <Words text={choice.covers} />
            </span>
          </li>
        ))}
      </ul>
      <div className="ask-actions">
        <Button size="xs" variant="default" disabled={busy} onClick={props.deny} rightSection={<kbd>d</kbd>}>
          Deny
        </Button>
        <Button
          size="xs"
          variant="subtle"
          color="gray"
          disabled={busy}
          onClick={props.denyBecause}
          rightSection={<kbd>D</kbd>}
        >
          Deny, because …
        </Button>
        <Button
          size="xs"
          variant="subtle"
          color="gray"
          onClick={props.toggleWhy}
          aria-expanded={props.why}
          rightSection={<kbd>?</kbd>}
        >
          Why?
        </Button>
      </div>
    </>
  )
}
