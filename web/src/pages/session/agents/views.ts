import { firstLine } from '@/lib/format'
import { wordsForEnd } from '@/lib/turn-words'
import type { AgentInfo, ErrorInfo, SessionInfo, ToolCallPart, ToolResultPart } from '@/protocol/types'
import { type Agent, isRunning } from '@/state/conversation'
import { aboutTool, tasksOf } from '../tool-words'

/** A sub-agent as it is shown, put together from what the tree, the events and the overview say of it. */
export interface AgentView {
  id: string
  /** What it is, and what it is to do. */
  template: string
  task: string
  status: NonNullable<SessionInfo['status']>
  running: boolean
  /** What it does now, in words. */
  doing: string
  /** Why it did not get done; empty when it did, or is at work. */
  failure: string
  startedAt: number
  tookMs: number
  background: boolean
  /** The copy with edits that have not come back. */
  copy: string
}

interface Known {
  member?: AgentInfo
  agent?: Agent
  info?: SessionInfo
}

export function viewOf(id: string, { member, agent, info = member?.session }: Known): AgentView {
  const status = info?.status ?? 'idle'
  const atWork = isRunning({ status })
  const running = agent ? agent.finished === null && (atWork || !member?.ended) : atWork || Boolean(member?.running)
  const [template = '', task = ''] = split(info?.name ?? '')
  return {
    id,
    template: agent?.template || info?.template || template || 'agent',
    task: firstLine(agent?.task || task),
    status: running && status === 'idle' ? 'thinking' : status,
    running,
    doing: running ? doingWords(agent?.detail || member?.detail || '', status) : '',
    failure: running ? '' : failureOf(agent, member),
    startedAt: agent?.startedAt || info?.created_at || 0,
    tookMs: agent?.finished?.durationMs || member?.took_ms || 0,
    background: member?.background ?? false,
    copy: member?.copy ?? '',
  }
}

/** Sub-agents are named `template: task`. */
function split(name: string): string[] {
  const at = name.indexOf(': ')
  return at < 0 ? ['', name] : [name.slice(0, at), name.slice(at + 2)]
}

/** `shell pytest -q` is told as `running pytest -q`. */
export function doingWords(detail: string, status: SessionInfo['status']): string {
  if (status === 'waiting_approval') return 'waits for you'
  if (!detail) return status === 'executing_tool' ? 'at work' : 'thinking'
  const [tool = '', ...about] = detail.split(' ')
  return [aboutTool(tool).words[1], ...about].join(' ')
}

function failureOf(agent: Agent | undefined, member: AgentInfo | undefined): string {
  const reason = agent?.finished?.reason ?? member?.ended
  if (!reason || reason === 'done') return agent?.finished?.error?.message ?? ''
  const error: ErrorInfo | null = agent?.finished?.error ?? member?.error ?? null
  return wordsForEnd({ turn: 0, reason, error }).text
}

/**
 * The sessions that a call of the tool `agent` started: as the events told, as its result says, or, when this page was
 * opened in the middle, those whose name is made of what the call says.
 */
export function agentsOfCall(
  call: ToolCallPart,
  result: ToolResultPart | null,
  agents: Record<string, Agent>,
  members: AgentInfo[],
): string[] {
  const told = Object.values(agents).filter(({ callId }) => callId === call.id)
  if (told.length > 0) return told.map(({ child }) => child)
  const ran = (result?.display?.agents ?? []).flatMap(({ session }) => session || [])
  if (ran.length > 0) return ran
  const wanted = new Set(tasksOf(call).map(({ template, task }) => nameFor(template, task)))
  return members.filter(({ session }) => wanted.has(session.name)).map(({ session }) => session.id)
}

/** As the daemon names it (agents/subagents.py). */
function nameFor(template: string, task: string): string {
  return `${template}: ${task}`.split(/\s+/).filter(Boolean).join(' ').slice(0, 60)
}
