import { IconChevronDown, IconChevronRight } from '@tabler/icons-react'
import { type ReactNode, useState } from 'react'
import { churnOf, ignoredWords } from '@/lib/ignored'
import type { ChangedFile } from '@/protocol/types'
import { Churn } from './Diff'
import './ignored-files.css'

const NAMED = 3

interface Props {
  files: ChangedFile[]
  /** Where something else opens it, too. */
  open?: boolean
  setOpen?: (open: boolean) => void
  /** What opening shows. */
  children: ReactNode
}

/** One line for changed files that git ignores, until it is opened. */
export function IgnoredFiles({ files, open: told, setOpen: tell, children }: Props) {
  const [own, setOwn] = useState(false)
  const open = told ?? own
  if (files.length === 0) return null
  const names = files.slice(0, NAMED).map(({ path }) => path)
  if (files.length > NAMED) names.push('…')
  return (
    <>
      <button type="button" className="ignored-files" aria-expanded={open} onClick={() => (tell ?? setOwn)(!open)}>
        {open ? <IconChevronDown size={14} aria-hidden /> : <IconChevronRight size={14} aria-hidden />}
        <span className="ignored-files-count">{ignoredWords(files.length)}</span> <Churn {...churnOf(files)} />
        <span className="mono dim cut" title={files.map(({ path }) => path).join('\n')}>
          {names.join(', ')}
        </span>
      </button>
      {open && children}
    </>
  )
}
