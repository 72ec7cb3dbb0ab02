import { create } from 'zustand'
import type { Myself, PersonName, SessionInfo } from '@/protocol/types'

/** Who is looking, and among whom. On a machine of one's own nothing of it is filled. */
export const usePeople = create<Myself>(() => ({}))

/** Whoever runs this installation: they say who works on it. */
export const runsIt = ({ several, person }: Myself): boolean => !!several && (!person || person.role === 'admin')

/** Whose session it is, when it is not one's own. */
export function ownerOf({ several, person, known = [] }: Myself, info: SessionInfo): PersonName | null {
  const owner = info.owner ?? ''
  if (!several || owner === (person?.id ?? '')) return null
  return known.find(({ id }) => id === owner) ?? { id: owner, email: owner ? 'somebody else' : 'this server' }
}

export const calledBy = ({ name, email }: Pick<PersonName, 'name' | 'email'>): string => name || email
