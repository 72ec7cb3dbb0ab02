import { Link } from '@tanstack/react-router'
import { type ReactNode, useMemo } from 'react'
import { useOverview } from '@/state/overview'

/** A place in a folder's code. Files are read in a session: where one works there, this leads to it. */
export function OpenIn(props: { cwd: string; path: string; line?: number; children: ReactNode }) {
  const id = useSessionIn(props.cwd)
  if (!id) return props.children
  return (
    <Link
      className="code-link"
      to="/sessions/$id"
      params={{ id }}
      search={{ tab: 'files', file: props.path, line: props.line }}
    >
      {props.children}
    </Link>
  )
}

/** The session that was last active in a folder. */
function useSessionIn(cwd: string): string {
  const cards = useOverview((state) => state.cards)
  return useMemo(() => {
    const there = Object.values(cards).filter(({ info }) => info.cwd === cwd && !info.parent)
    const newest = there.sort((one, other) => other.info.updated_at - one.info.updated_at)[0]
    return newest?.info.id ?? ''
  }, [cards, cwd])
}
