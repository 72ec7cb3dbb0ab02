import { Suspense } from 'react'
import { later } from '@/lib/later'
import type { Conversation } from '@/state/conversation'

const Asked = later(() => import('./Asked').then((loaded) => ({ default: loaded.Asked })))
const Permission = later(() => import('./Permission').then((loaded) => ({ default: loaded.Permission })))

/** What needs the person, always in the same place: above the input. One at a time; the rest waits behind it. */
export default function Asks({ conversation }: { conversation: Conversation }) {
  const { permissions, questions, info } = conversation
  const ask = permissions[0]
  const question = questions[0]
  const place = { session: info.id, cwd: info.cwd, keys: 'page' as const }
  return (
    <Suspense>
      {ask ? (
        <Permission key={ask.id} ask={ask} behind={permissions.length - 1} {...place} />
      ) : (
        question && <Asked key={question.id} question={question} behind={questions.length - 1} {...place} />
      )}
    </Suspense>
  )
}
