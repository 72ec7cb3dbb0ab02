import { Button } from '@mantine/core'
import { IconLock } from '@tabler/icons-react'
import { Link, useLocation } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useTitle } from '@/lib/title'
import { useIsShut, usePages } from '@/pages/shown'
import { EmptyState } from './states'

/** A page with a heading, what can be done, and its content. */
export function Page(props: { title: string; actions?: ReactNode; wide?: boolean; children: ReactNode }) {
  useTitle(props.title)
  const shut = useIsShut(useLocation().pathname)
  return (
    <>
      <Siblings />
      <div className={props.wide ? 'page page-wide' : 'page'}>
        <header className="page-head">
          <h1>{props.title}</h1>
          {props.actions && !shut && <div className="page-actions">{props.actions}</div>}
        </header>
        {shut ? <ForAdmins /> : props.children}
      </div>
    </>
  )
}

function ForAdmins() {
  return (
    <EmptyState
      icon={<IconLock size={24} />}
      title="For admins"
      action={
        <Button variant="default" component={Link} to="/">
          To your sessions
        </Button>
      }
    >
      This is about the whole installation, which its admins look after. Ask one of yours.
    </EmptyState>
  )
}

/** Where not all of them fit, the one that is open is among those in sight. */
function showCurrent(line: HTMLElement | null): void {
  const open = line?.querySelector<HTMLElement>('[aria-current]')
  if (line && open) line.scrollLeft = open.offsetLeft + open.offsetWidth + 16 - line.clientWidth
}

/** The other pages that share this one's place in the rail. */
function Siblings() {
  const { pathname } = useLocation()
  const pages = usePages()
  const group = pages.find(({ path }) => path === pathname)?.group
  if (!group) return null
  return (
    <nav className="siblings" aria-label={group} ref={showCurrent}>
      {pages
        .filter((page) => page.group === group)
        .map(({ path, label }) => (
          <Link
            key={path}
            to={path}
            className="sibling"
            activeOptions={{ exact: true }}
            aria-current={path === pathname ? 'page' : undefined}
          >
            {label}
          </Link>
        ))}
    </nav>
  )
}
