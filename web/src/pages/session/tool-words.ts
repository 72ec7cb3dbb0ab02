import { firstLine } from '@/lib/format'
import type { ToolCallPart } from '@/protocol/types'
import type { CallEnd } from '@/state/conversation'

interface Words {
  /** Before it runs, while it does, and after. */
  todo: string
  doing: string
  done: string
}

/** How far a call has come, or how it ended. */
export type Phase = 'waiting' | 'asking' | 'running' | CallEnd

const WORDS: Record<string, Words> = {
  read_file: { todo: 'read', doing: 'reading', done: 'read' },
  list_dir: { todo: 'list', doing: 'listing', done: 'listed' },
  edit_file: { todo: 'edit', doing: 'editing', done: 'edited' },
  write_file: { todo: 'write', doing: 'writing', done: 'wrote' },
  apply_patch: { todo: 'patch', doing: 'patching', done: 'patched' },
  glob: { todo: 'look for', doing: 'looking for', done: 'looked for' },
  grep: { todo: 'search', doing: 'searching', done: 'searched' },
  search_files: { todo: 'search', doing: 'searching', done: 'searched' },
  search_code: { todo: 'search', doing: 'searching', done: 'searched' },
  shell: { todo: 'run', doing: '', done: '' },
  shell_output: { todo: 'read output of', doing: 'reading output of', done: 'read output of' },
  execute_code: { todo: 'run code', doing: 'running code', done: 'ran code' },
  git: { todo: 'git', doing: 'git', done: 'git' },
  todo: { todo: 'plan', doing: 'planning', done: 'planned' },
  ask_user: { todo: 'ask', doing: 'asking', done: 'asked' },
  web_fetch: { todo: 'fetch', doing: 'fetching', done: 'fetched' },
  web_search: { todo: 'search the web for', doing: 'searching the web for', done: 'searched the web for' },
}

/** The argument that says most about a call, tried in this order. */
const TELLING = ['command', 'path', 'pattern', 'query', 'url', 'question', 'task', 'code', 'name', 'id']

/** Verb and object of a call: `edited`, `core/turn.py`; past tense only for what was done. */
export function wordsFor(call: ToolCallPart, summary: string, phase: Phase): { verb: string; object: string } {
  const verb = verbFor(WORDS[call.name] ?? { todo: call.name, doing: call.name, done: call.name }, phase)
  if (call.name === 'todo') return { verb, object: '' }
  return { verb, object: firstLine(summary && summary !== call.name ? summary : telling(call)) }
}

function verbFor(words: Words, phase: Phase): string {
  switch (phase) {
    case 'done':
      return words.done
    case 'running':
      return words.doing
    case 'waiting':
      return words.todo
    case 'asking':
      return `wants to ${words.todo}`
    default:
      return `${phase.replace('_', ' ')}: ${words.todo}`
  }
}

function telling(call: ToolCallPart): string {
  const given = call.arguments ?? {}
  for (const name of TELLING) if (typeof given[name] === 'string' && given[name]) return given[name]
  const first = Object.values(given).find((value) => typeof value === 'string')
  return typeof first === 'string' ? first : ''
}
