import { type Conversation, isRunning } from '@/state/conversation'
import { doingCall } from './tool-words'

/** What the session does right now, by its file or command: also where the call itself is out of sight. */
export function Doing({ conversation }: { conversation: Conversation }) {
  const { info, permissions, questions } = conversation
  if (!isRunning(info) || permissions.length > 0 || questions.length > 0) return null
  const words = doing(conversation)
  return (
    <p className="session-doing dim cut" title={words}>
      {words} …
    </p>
  )
}

/** `running pytest -q`, `editing src/x.py`; of several calls the one that has begun. */
export function doing({ info, messages, calls, results }: Conversation): string {
  if (info.status !== 'executing_tool') return 'thinking'
  const asked = messages.findLast(({ role }) => role === 'assistant')?.parts ?? []
  const open = asked
    .filter((part) => part.type === 'tool_call')
    .filter(({ id }) => !results[id] && !calls[id]?.finished)
  const call = open.find(({ id }) => calls[id]) ?? open[0]
  if (!call) return 'at work'
  return doingCall(call, calls[call.id]?.summary)
}
