import { firstLine } from '@/lib/format'
import type { ToolCallPart } from '@/protocol/types'

interface Words {
  /** While it runs, and after. */
  doing: string
  done: string
}

const WORDS: Record<string, Words> = {
  read_file: { doing: 'reading', done: 'read' },
  list_dir: { doing: 'listing', done: 'listed' },
  edit_file: { doing: 'editing', done: 'edited' },
  write_file: { doing: 'writing', done: 'wrote' },
  apply_patch: { doing: 'patching', done: 'patched' },
  glob: { doing: 'looking for', done: 'looked for' },
  grep: { doing: 'searching', done: 'searched' },
  search_files: { doing: 'searching', done: 'searched' },
  search_code: { doing: 'searching', done: 'searched' },
  shell: { doing: '', done: '' },
  shell_output: { doing: 'reading output of', done: 'read output of' },
  execute_code: { doing: 'running code', done: 'ran code' },
  git: { doing: 'git', done: 'git' },
  todo: { doing: 'planning', done: 'planned' },
  ask_user: { doing: 'asking', done: 'asked' },
  web_fetch: { doing: 'fetching', done: 'fetched' },
  web_search: { doing: 'searching the web for', done: 'searched the web for' },
}

/** The argument that says most about a call, tried in this order. */
const TELLING = ['command', 'path', 'pattern', 'query', 'url', 'question', 'task', 'code', 'name', 'id']

/** Verb and object of a call: `edited`, `core/turn.py`. */
export function wordsFor(call: ToolCallPart, summary: string, running: boolean): { verb: string; object: string } {
  const known = WORDS[call.name]
  const verb = known ? (running ? known.doing : known.done) : call.name
  if (call.name === 'todo') return { verb, object: '' }
  return { verb, object: firstLine(summary && summary !== call.name ? summary : telling(call)) }
}

function telling(call: ToolCallPart): string {
  const given = call.arguments ?? {}
  for (const name of TELLING) if (typeof given[name] === 'string' && given[name]) return given[name]
  const first = Object.values(given).find((value) => typeof value === 'string')
  return typeof first === 'string' ? first : ''
}
