import { firstLine } from '@/lib/format'
import type { ToolCallPart } from '@/protocol/types'
import { TOOLS, type ToolWords } from '@/protocol/words'
import type { CallEnd } from '@/state/conversation'

/** How far a call has come, or how it ended. */
export type Phase = 'waiting' | 'asking' | 'running' | CallEnd

/** Arguments that may stand for a call of a tool that nothing is known of, the most telling first. */
const TELLING = ['command', 'path', 'pattern', 'query', 'url', 'question', 'task', 'code', 'name', 'id']
const OF_MCP: ToolWords = { kind: 'other', words: ['call', 'calling', 'called'], subject: '' }

export function aboutTool(name: string): ToolWords {
  const known = Object.hasOwn(TOOLS, name) ? TOOLS[name] : undefined
  return known ?? (name.startsWith('mcp__') ? OF_MCP : { kind: 'other', words: [name, name, name], subject: '' })
}

/** Verb and object of a call: `edited`, `core/turn.py`; past tense only for what was done. */
export function wordsFor(call: ToolCallPart, summary: string, phase: Phase): { verb: string; object: string } {
  const about = aboutTool(call.name)
  const object = summary || telling(call, about)
  return { verb: verbFor(about, phase), object: object === call.name ? '' : firstLine(object) }
}

/** A call while it runs, in all its words: `running pytest -q`, `editing src/x.py`. */
export function doingCall(call: ToolCallPart, summary = ''): string {
  return `${aboutTool(call.name).words[1]} ${wordsFor(call, summary, 'running').object}`.trim()
}

function verbFor({ words: [todo, doing, done] }: ToolWords, phase: Phase): string {
  const speaksForItself = todo === 'run'
  switch (phase) {
    case 'done':
      return speaksForItself ? '' : done
    case 'running':
      return speaksForItself ? '' : doing
    case 'waiting':
      return todo
    case 'asking':
      return `wants to ${todo}`
    default:
      return `${phase.replace('_', ' ')}: ${todo}`
  }
}

function telling(call: ToolCallPart, { subject }: ToolWords): string {
  const given = call.arguments ?? {}
  if (call.name === 'agent') return [...new Set(tasksOf(call).map(({ template }) => template))].join(', ')
  if (call.name === 'apply_patch') return namedFiles(plain(given.patch)).join(', ') || call.name
  const filled = subject.includes('{')
    ? subject.replace(/\{(\w+)\}/g, (_, name: string) => plain(given[name])).trim()
    : plain(given[subject])
  if (filled) return filled
  for (const name of TELLING) if (typeof given[name] === 'string' && given[name]) return given[name]
  const first = Object.values(given).find((value) => typeof value === 'string')
  return typeof first === 'string' ? first : ''
}

export interface Task {
  template: string
  task: string
}

export function tasksOf(call: ToolCallPart): Task[] {
  const tasks = call.arguments?.tasks
  if (!Array.isArray(tasks)) return []
  return tasks.filter((one): one is Task => typeof one?.template === 'string' && typeof one?.task === 'string')
}

const NAMED = /^(?:\*\*\* (?:Add|Update|Delete) File: |\*\*\* Move to: |(?:---|\+\+\+) (?:[ab]\/)?)([^\t\n]+)/gm

/** The files that a patch changes (protocol/about.py). */
function namedFiles(patch: string): string[] {
  const names = [...patch.matchAll(NAMED)].map((found) => (found[1] ?? '').trim())
  return [...new Set(names.filter((name) => name !== '/dev/null'))]
}

function plain(value: unknown): string {
  return Array.isArray(value) ? value.join(' ') : String(value ?? '')
}
