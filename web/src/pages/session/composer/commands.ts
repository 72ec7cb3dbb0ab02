import type { NavigateFn } from '@tanstack/react-router'
import { act } from '@/lib/ask'
import { tokens } from '@/lib/format'
import { MODES } from '@/lib/modes'
import { tell } from '@/lib/tell'
import { COMMANDS, type CommandWords, INIT_PROMPT } from '@/protocol/commands'
import type { SettingsChange } from '@/protocol/types'
import { openPalette } from '@/shell/palette-state'
import { useShell } from '@/shell/shell-state'
import { useShortcuts } from '@/shell/shortcuts'
import type { Conversation } from '@/state/conversation'
import { say } from '@/state/outbox'
import { openPanel } from '../panels'

/** What a command works with. */
export interface Here {
  conversation: Conversation
  navigate: NavigateFn
  /** Opens the dialog that goes back to before a turn. */
  rewind: (turn: number) => void
  switchTheme: () => void
}

/** Given what was typed after the name. False: it stays in the input, for the person to mend. */
type Run = (here: Here, given: string) => unknown

type Name = (typeof COMMANDS)[number]['name']

const page =
  (to: string): Run =>
  ({ navigate }) =>
    void navigate({ to })

const tab =
  (name: 'files' | 'review'): Run =>
  ({ conversation, navigate }) =>
    void navigate({ to: '/sessions/$id', params: { id: conversation.info.id }, search: { tab: name } })

/** The terminal's commands: what each does in the browser, or why it is not offered there. */
export const BUILT_IN: Record<Name, Run | { elsewhere: string }> = {
  new: () => useShell.setState({ newSession: true }),
  clear,
  resume: openPalette,
  reopen: { elsewhere: 'Ctrl-K lists the sessions, the newest first.' },
  model: (here, name) => (name ? change(here, { model: name }) : press('.model-switch')),
  mode: (here, name) => (name ? oneOf(here, MODES, name, (mode) => ({ mode })) : press('.mode-switch')),
  thinking: (here, level) =>
    oneOf(here, ['off', 'low', 'medium', 'high', 'default'] as const, level, (thinking) => ({
      thinking: thinking === 'default' ? null : thinking,
    })),
  budget,
  persona,
  diff: tab('review'),
  undo: goBack,
  redo: ({ conversation }) => act('session.redo', { session: conversation.info.id }),
  rewind: goBack,
  fork: async ({ conversation: { info }, navigate }, name) => {
    const made = await act('session.fork', { session: info.id, name: name || `${info.name || 'session'} (fork)` })
    if (made) void navigate({ to: '/sessions/$id', params: { id: made.id } })
  },
  compact,
  context: () => openPanel('context'),
  usage: page('/analytics'),
  export: async ({ conversation }, name) => {
    const { takeAway } = await import('../take-away')
    const form = (['html', 'json'] as const).find((ending) => name.endsWith(`.${ending}`)) ?? 'md'
    note(`${await takeAway(conversation.info, form, name)} was downloaded.`)
  },
  rename: async ({ conversation }, name) => {
    if (!name) return ask('Write the name after it: /rename The parser')
    return act('session.update', { session: conversation.info.id, name })
  },
  cancel: ({ conversation }) => act('turn.cancel', { session: conversation.info.id }),
  retry: ({ conversation }) => act('turn.retry', { session: conversation.info.id }),
  'ask-again': ({ conversation }) => act('ask.again', { session: conversation.info.id }),
  'let-go': ({ conversation }) => act('ask.again', { session: conversation.info.id, drop: true }),
  close: page('/'),
  template: page('/templates'),
  agents: { elsewhere: 'The agents stand beside the conversation.' },
  plan: { elsewhere: 'The plan stands beside the conversation.' },
  tools: page('/settings/tools'),
  files: tab('files'),
  copy: copyAnswer,
  find: { elsewhere: 'Ctrl-K finds what was said, in this session and in all others.' },
  view: { elsewhere: 'Click a tool call to see all of it.' },
  search: openPalette,
  queue: { elsewhere: 'The messages that wait stand above the input.' },
  tasks: page('/tasks'),
  grants: page('/grants'),
  mcp: page('/settings/mcp'),
  init: ({ conversation }) => say(conversation.info.id, INIT_PROMPT),
  logs: { elsewhere: 'The log is for the command line: openagent logs' },
  skills: page('/skills'),
  hooks: page('/hooks'),
  plugins: page('/plugins'),
  config: page('/settings'),
  login: page('/auth'),
  logout: page('/auth'),
  trust: () => openPanel('trust'),
  audit: page('/audit'),
  doctor: { elsewhere: 'The installation is checked by the command line: openagent doctor' },
  status: page('/'),
  theme: ({ switchTheme }) => switchTheme(),
  alerts: { elsewhere: 'The bell is the terminal’s.' },
  vim: { elsewhere: 'Vim keys are the terminal’s.' },
  keybindings: () => useShortcuts.setState({ helpOpen: true }),
  help: () => useShortcuts.setState({ helpOpen: true }),
  update: { elsewhere: 'The command line tells: openagent update --check' },
  version: { elsewhere: 'The command line tells: openagent version' },
  quit: { elsewhere: 'Close the tab; sessions go on.' },
}

/** Those that do something here, as they are offered. */
export const OFFERED: readonly CommandWords[] = COMMANDS.filter(({ name }) => typeof BUILT_IN[name] === 'function')

export function builtIn(name: string): Name | null {
  return COMMANDS.find((one) => one.name === name || one.words.some((word) => word === name))?.name ?? null
}

/** Does what is built in; anything else is for the daemon, which knows the workspace's own commands. */
export async function run({ name, given }: { name: string; given: string }, here: Here, say: () => void) {
  const known = builtIn(name)
  if (known) return runBuiltIn(known, here, given)
  say()
  return true
}

/** Does what the name says. Returns whether it was done: what was not stays in the input. */
async function runBuiltIn(name: Name, here: Here, given: string): Promise<boolean> {
  const run = BUILT_IN[name]
  if (typeof run !== 'function') return ask(run.elsewhere)
  const done = await run(here, given)
  return done !== false && done !== null
}

async function clear({ conversation: { info }, navigate }: Here): Promise<unknown> {
  const { model, mode, thinking, budget_usd, disabled_tools, disabled_mcp_servers } = info.settings ?? {}
  const settings = { model, mode, thinking, budget_usd, disabled_tools, disabled_mcp_servers }
  const given = Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined))
  const made = await act('session.create', { cwd: info.cwd, template: info.template ?? '', settings: given })
  if (!made) return false
  note('A new session. The old one is kept in the list.')
  return void navigate({ to: '/sessions/$id', params: { id: made.id } })
}

async function budget(here: Here, given: string): Promise<unknown> {
  const dollars = given === 'none' ? null : Number(given.replace(/^\$/, ''))
  if (!given || Number.isNaN(dollars)) return ask('Write dollars after it, such as /budget 2.50, or none.')
  return change(here, { budget_usd: dollars })
}

async function persona({ conversation: { info } }: Here, name: string): Promise<unknown> {
  if (!name) return ask(`${info.template ? `It works as ${info.template}. ` : ''}Write a template after it, or none.`)
  const template = name === 'none' ? '' : name
  const done = await act('session.update', { session: info.id, template })
  if (done) note(template ? `Now as ${template}, from the next step on.` : 'No persona, from the next step on.')
  return done
}

async function compact({ conversation }: Here, collector: string): Promise<unknown> {
  note('Compacting …')
  const done = await act('context.collect', { session: conversation.info.id, collector })
  if (done && !done.hidden && !done.shortened)
    note(`There is nothing to leave out yet: ${tokens(done.tokens_before ?? 0)} tokens.`)
  return done
}

async function copyAnswer({ conversation }: Here): Promise<unknown> {
  const answer = conversation.messages.findLast(({ role, parts }) => role === 'assistant' && parts.some(isText))
  if (!answer) return ask('There is no answer to copy yet.')
  await navigator.clipboard.writeText(answer.parts.map((part) => (isText(part) ? part.text : '')).join(''))
  return note('The newest answer is copied.')
}

function isText(part: { type: string }): part is { type: 'text'; text: string } {
  return part.type === 'text'
}

function goBack({ conversation, rewind }: Here): unknown {
  const last = conversation.info.turn_count
  return last ? rewind(last) : ask('There is no turn to take back.')
}

function oneOf<T extends string>(here: Here, all: readonly T[], given: string, made: (one: T) => SettingsChange) {
  const one = all.find((each) => each === given)
  return one ? change(here, made(one)) : ask(`Write one of these after it: ${all.join(', ')}.`)
}

function change({ conversation }: Here, settings: SettingsChange): Promise<unknown> {
  return act('session.update', { session: conversation.info.id, settings })
}

/** Opens a menu of the header: it is loaded by being pressed. */
function press(button: string): boolean {
  const found = [...document.querySelectorAll<HTMLElement>(button)].find((one) => one.offsetParent !== null)
  // After the key that sent the command has done its work: it would close the menu again.
  setTimeout(() => found?.click())
  return found !== undefined
}

function note(text: string): void {
  tell({ tone: 'plain', title: text, text: '' })
}

/** Says what is missing; the command stays in the input. */
function ask(text: string): false {
  tell({ tone: 'warn', title: text, text: '' })
  return false
}
