import type { ReactNode } from 'react'
import { useEffect } from 'react'

/** A page with a heading, what can be done, and its content. */
export function Page(props: { title: string; actions?: ReactNode; wide?: boolean; children: ReactNode }) {
  useTitle(props.title)
  return (
    <div className={props.wide ? 'page page-wide' : 'page'}>
      <header className="page-head">
        <h1>{props.title}</h1>
        {props.actions && <div className="page-actions">{props.actions}</div>}
      </header>
      {props.children}
    </div>
  )
}

export function useTitle(title: string): void {
  useEffect(() => {
    document.title = title ? `${title} · OpenAgent` : 'OpenAgent'
  }, [title])
}
