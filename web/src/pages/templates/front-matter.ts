import { MODES, type Mode } from '@/lib/modes'
import type { Template } from '@/protocol/types'

/** As the daemon writes a template: front matter, then what is added to the system prompt. */
export function markdownOf(template: Template): string {
  const lines = ['---', `name: ${template.name}`]
  const scalar = (key: string, value: string | number | null | undefined) => {
    if (value !== null && value !== undefined && value !== '') lines.push(`${key}: ${quoted(String(value))}`)
  }
  const list = (key: string, value: string[] | null | undefined) => {
    if (value) lines.push(`${key}: [${value.join(', ')}]`)
  }
  scalar('description', template.description)
  scalar('role', template.role)
  scalar('model', template.model)
  list('tools', template.tools)
  list('mcp_servers', template.mcp_servers)
  scalar('mode', template.mode)
  scalar('max_steps', template.max_steps)
  scalar('timeout', template.timeout)
  scalar('budget_usd', template.budget_usd)
  return [...lines, '---', '', (template.prompt ?? '').trim(), ''].join('\n')
}

function quoted(text: string): string {
  const risky = text !== text.trim() || /^["'[|>#&*!%@`{]/.test(text) || / #|\n/.test(text)
  return risky ? JSON.stringify(text) : text
}

/** What `markdownOf` wrote, read back. Anything richer is for the daemon to read: then this says so. */
export function templateOf(markdown: string): Template {
  const parts = /^---\n([\s\S]*?)\n---\n?([\s\S]*)$/.exec(markdown.replaceAll('\r\n', '\n'))
  if (!parts) throw new Error('It does not begin with front matter between two lines of ---.')
  const template: Template = { name: '', prompt: parts[2]!.trim() }
  for (const line of parts[1]!.split('\n')) {
    if (!line.trim() || line.trimStart().startsWith('#')) continue
    const at = line.indexOf(':')
    if (at < 1 || /^\s/.test(line)) throw new Error(`The form cannot show “${line.trim()}”; save it as Markdown.`)
    set(template, line.slice(0, at).trim(), line.slice(at + 1).trim())
  }
  return template
}

function set(template: Template, key: string, value: string): void {
  switch (key) {
    case 'name':
    case 'description':
    case 'role':
    case 'model':
      template[key] = textOf(value)
      return
    case 'tools':
    case 'mcp_servers':
      template[key] = value === '*' ? null : listOf(value)
      return
    case 'mode': {
      const mode = MODES.find((one): one is Mode => one === textOf(value))
      if (!mode) throw new Error(`“${value}” is no mode: choose one of ${MODES.join(', ')}.`)
      template.mode = mode
      return
    }
    case 'max_steps':
    case 'timeout':
    case 'budget_usd':
      if (!(Number(value) > 0)) throw new Error(`${key} must be a number above 0.`)
      template[key] = Number(value)
      return
    default:
      throw new Error(`The form has no “${key}”; save it as Markdown.`)
  }
}

function textOf(value: string): string {
  if (value.startsWith('"')) return JSON.parse(value) as string
  if (value.startsWith("'") && value.endsWith("'")) return value.slice(1, -1).replaceAll("''", "'")
  return value
}

function listOf(value: string): string[] {
  const inner = value.startsWith('[') && value.endsWith(']') ? value.slice(1, -1) : value
  return inner
    .split(',')
    .map((item) => textOf(item.trim()))
    .filter(Boolean)
}
