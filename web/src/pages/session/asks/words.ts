import { filesOf, placesOf } from '@/parts/diff-lines'
import type { PermissionAsk, PermissionChoice } from '@/protocol/types'
import { aboutTool } from '../tool-words'

const TITLES: Record<string, string> = {
  folder: 'Let it read this folder?',
  folder_write: 'Let it write in this folder?',
  unsaved: 'Let it change what undo cannot bring back?',
  engine: 'Let it use the container engine?',
  credential: 'Let it use this credential?',
}

/** What is asked for while something else runs: who wants it, and what for, is not to be seen from the thing itself. */
const LEAVES = new Set(['network', 'folder', 'folder_write', 'engine', 'credential'])

export function isHeld(ask: PermissionAsk): boolean {
  return LEAVES.has(ask.tool)
}

/** What it asks for: with the file it is about. */
export function titleOf(ask: PermissionAsk): string {
  const [todo] = aboutTool(ask.tool).words
  if (todo === 'run') return 'Run this command?'
  if (ask.tool === 'network') return `Connect to ${ask.summary}?`
  const named = TITLES[ask.tool]
  if (named) return named
  const files = filesOf(ask.diff ?? '')
  if (files.length > 1) return `Change ${files.length} files?`
  const path = files[0]?.path || (typeof ask.arguments.path === 'string' ? ask.arguments.path : '')
  if (!path) return `Allow ${ask.tool}?`
  const verb = files[0]?.fate === 'new' ? 'create' : files[0]?.fate === 'gone' ? 'delete' : todo
  return `${verb.charAt(0).toUpperCase()}${verb.slice(1)} ${path}?`
}

/** `lines 37–52`, where one file is changed in place. */
export function placeOf(ask: PermissionAsk): string {
  const files = filesOf(ask.diff ?? '')
  if (files.length !== 1 || files[0]?.fate !== 'changed') return ''
  const place = placesOf(files[0].lines)
  if (!place) return ''
  return place[0] === place[1] ? `line ${place[0]}` : `lines ${place[0]}–${place[1]}`
}

/** What stands still until there is an answer. */
export function whoWaits(ask: PermissionAsk): string {
  if (ask.tool === 'network') return 'the connection is waiting'
  return isHeld(ask) ? 'the command is waiting' : 'waiting'
}

const KEYS: Record<string, string> = { once: 'a', session: 's', always: 'A' }
export const APPROVE = { once: 'Approve once', session: 'Approve for this session', always: 'Approve always' }
const LABELS = { once: 'Once', session: 'This session', always: 'Always' }
/** What a daemon means that tells no choices. */
const PLAIN: PermissionChoice[] = [
  { id: 'once', scope: 'once', by: 'call', covers: 'Only this, this one time.' },
  { id: 'session', scope: 'session', by: 'exact', covers: 'For the rest of this session.' },
  { id: 'always', scope: 'always', by: 'exact', covers: 'Always in this workspace.' },
]

export interface Way {
  key: string
  label: string
  choice: PermissionChoice
}

/** The keys are the same everywhere. Other widths than the usual have none here, where numbers are for the tabs. */
export function waysToAllow(choices: PermissionChoice[] = []): Way[] {
  return (choices.length > 0 ? choices : PLAIN).map((choice) => ({
    key: KEYS[choice.id] ?? '',
    label: LABELS[choice.scope],
    choice,
  }))
}
