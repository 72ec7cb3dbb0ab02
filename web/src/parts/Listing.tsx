import { TextInput } from '@mantine/core'
import { IconSearch } from '@tabler/icons-react'
import type { ReactNode } from 'react'
import './listing.css'

/** A named part of a page: what it holds, what can be done with it, its rows. */
export function Section(props: { title: string; about?: ReactNode; actions?: ReactNode; children: ReactNode }) {
  return (
    <section className="section">
      <header className="section-head">
        <div className="section-words">
          <h2>{props.title}</h2>
          {props.about && <p className="dim">{props.about}</p>}
        </div>
        {props.actions && <div className="page-actions">{props.actions}</div>}
      </header>
      {props.children}
    </section>
  )
}

/** Rows in a panel. */
export function Rows({ children, label }: { children: ReactNode; label: string }) {
  return (
    <ul className="rows panel" aria-label={label}>
      {children}
    </ul>
  )
}

/** One row: what it is, a line about it, figures, and what can be done. Details open below. */
export function Row(props: {
  name: ReactNode
  chips?: ReactNode
  about?: ReactNode
  figures?: ReactNode
  actions?: ReactNode
  children?: ReactNode
}) {
  return (
    <li className="listed">
      <div className="row-line">
        <div className="row-main">
          <div className="row-name">
            {props.name}
            {props.chips}
          </div>
          {props.about && <div className="row-about">{props.about}</div>}
        </div>
        {props.figures && <div className="row-figures">{props.figures}</div>}
        {props.actions && <div className="listed-actions">{props.actions}</div>}
      </div>
      {props.children}
    </li>
  )
}

export type Tone = 'plain' | 'good' | 'warn' | 'bad' | 'accent'

/** A small word about a thing. */
export function Chip({ tone = 'plain', title, children }: { tone?: Tone; title?: string; children: ReactNode }) {
  return (
    <span className={`chip chip-${tone}`} title={title}>
      {children}
    </span>
  )
}

/** Words in a list's place, when a filter leaves nothing or there is nothing to list. */
export function Quiet({ children, action }: { children: ReactNode; action?: ReactNode }) {
  return (
    <div className="quiet panel">
      <p>{children}</p>
      {action}
    </div>
  )
}

/** What was left out of a list, and why. */
export function Notices({ notices = [] }: { notices?: string[] }) {
  if (notices.length === 0) return null
  return (
    <ul className="notices">
      {notices.map((notice) => (
        <li key={notice}>{notice}</li>
      ))}
    </ul>
  )
}

export function Filter(props: { label: string; value: string; change: (value: string) => void; width?: number }) {
  return (
    <TextInput
      size="xs"
      w={props.width}
      aria-label={props.label}
      placeholder={props.label}
      leftSection={<IconSearch size={14} />}
      value={props.value}
      onChange={(event) => props.change(event.currentTarget.value)}
    />
  )
}
