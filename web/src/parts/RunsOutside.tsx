import { outsideWords } from '@/lib/outside'
import './runs-outside.css'

/** The mark of one file. */
export function RunsOutside({ reason }: { reason?: string }) {
  return reason ? <span className="runs-outside">{outsideWords(reason)}</span> : null
}

/** The same where there is no room for words. */
export function OutsideFlag({ reason }: { reason?: string }) {
  return reason ? (
    <span className="runs-outside-flag" role="img" aria-label={outsideWords(reason)} title={outsideWords(reason)}>
      ⚑
    </span>
  ) : null
}

/** Those of some files, by path, where there is no list of files to mark. */
export function AllRunningOutside({ files }: { files?: Record<string, string> }) {
  const found = Object.entries(files ?? {})
  if (found.length === 0) return null
  return (
    <ul className="runs-outside-list" aria-label="Files that run outside the sandbox">
      {found.map(([path, reason]) => (
        <li key={path}>
          <span className="mono">{path}</span> <RunsOutside reason={reason} />
        </li>
      ))}
    </ul>
  )
}
