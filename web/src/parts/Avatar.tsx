import type { PersonName, SessionInfo } from '@/protocol/types'
import { calledBy, ownerOf, usePeople } from '@/state/people'
import './avatar.css'

/** A person in a small circle. Their name must stand beside it, or be the label of what it is in. */
export function Avatar({ who }: { who: Pick<PersonName, 'name' | 'email'> }) {
  const [called = ''] = calledBy(who).split('@')
  const letters = called.split(/[\s._-]+/, 2).map((word) => word[0]?.toUpperCase())
  // Drawn by the style sheet: two letters are no part of what anything is called.
  return <span className="avatar" data-letters={letters.join('')} aria-hidden />
}

/** Whose session it is, where it is another's. */
export function Owner({ info }: { info: SessionInfo }) {
  const people = usePeople()
  const owner = ownerOf(people, info)
  if (!owner) return null
  return (
    <span className="owner" title={`Of ${calledBy(owner)}`}>
      <Avatar who={owner} />
      <span className="visually-hidden">of {calledBy(owner)}</span>
    </span>
  )
}
