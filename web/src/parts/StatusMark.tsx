import type { SessionInfo } from '@/protocol/types'
import './status-mark.css'

type Status = NonNullable<SessionInfo['status']>

export const statusWords: Record<Status, string> = {
  idle: 'idle',
  thinking: 'thinking',
  executing_tool: 'running a tool',
  waiting_approval: 'waiting for you',
  error: 'failed',
}

const SHAPES: Record<Status, string> = {
  idle: '○',
  thinking: '●',
  executing_tool: '●',
  waiting_approval: '◆',
  error: '✗',
}

/** ● at work, ◆ waits for a person, ○ idle, ✗ failed: told by shape, not by colour alone. */
export function StatusMark({ status = 'idle', doing = '' }: { status?: Status; doing?: string }) {
  const words = doing || statusWords[status]
  return (
    <span className={`status-mark status-${status}`} role="img" aria-label={words} title={words}>
      {SHAPES[status]}
    </span>
  )
}
