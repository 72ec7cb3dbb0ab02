import type { Myself } from '@/protocol/types'
import { runsIt, usePeople } from '@/state/people'
import { type PageEntry, pages } from './pages'

const ALONE = pages.filter(({ admins }) => admins !== 'several')
const WORKING = pages.filter(({ admins }) => !admins)

/** Whoever works among others, and does not run the installation. */
const worksHere = (people: Myself): boolean => !!people.several && !runsIt(people)

/** The pages that are something to whoever looks. */
export function usePages(): PageEntry[] {
  return usePeople((people) => (worksHere(people) ? WORKING : people.several ? pages : ALONE))
}

/** Whether this page is for admins, and whoever looks is none. */
export function useIsShut(path: string): boolean {
  const shut = usePeople(worksHere)
  return shut && !WORKING.some((page) => page.path === path) && pages.some((page) => page.path === path)
}
