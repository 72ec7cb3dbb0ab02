import type { SessionInfo } from '@/protocol/types'
import { STATUSES } from '@/protocol/words'
import './status-mark.css'

type Status = NonNullable<SessionInfo['status']>

export const statusWords: Record<Status, string> = STATUSES

const SHAPES: Record<Status, string> = {
  idle: '○',
  thinking: '●',
  executing_tool: '●',
  waiting_approval: '◆',
  error: '✗',
  interrupted: '■',
  unanswered: '◆',
}

/** ● at work, ◆ waits for a person or was not answered, ○ idle, ✗ failed, ■ interrupted: told by shape, not by colour alone. */
export function StatusMark({ status = 'idle', doing = '' }: { status?: Status; doing?: string }) {
  const words = doing || statusWords[status]
  return (
    <span className={`status-mark status-${status}`} role="img" aria-label={words} title={words}>
      {SHAPES[status]}
    </span>
  )
}
