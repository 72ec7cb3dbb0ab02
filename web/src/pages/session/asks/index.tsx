import { type Conversation, isRunning } from '@/state/conversation'
import { Asked } from './Asked'
import { Lapsed } from './Lapsed'
import { Permission } from './Permission'

/** What needs the person, always in the same place: above the input. One at a time; the rest waits behind it. */
export function Asks({ conversation }: { conversation: Conversation }) {
  const { permissions, questions, lapsed, info } = conversation
  const ask = permissions[0]
  const question = questions[0]
  const place = { session: info.id, cwd: info.cwd, keys: 'page' as const }
  if (ask) return <Permission key={ask.id} ask={ask} behind={permissions.length - 1} {...place} />
  if (question) return <Asked key={question.id} question={question} behind={questions.length - 1} {...place} />
  if (lapsed.length > 0 && !isRunning(info)) return <Lapsed session={info.id} lapsed={lapsed} />
  return null
}
