import { act } from '@/lib/ask'
import { Confirm } from '@/parts/Confirm'
import type { SessionInfo } from '@/protocol/types'

export default function DeleteMany(props: { sessions: SessionInfo[]; close: () => void; done: () => void }) {
  const { sessions } = props
  const count = sessions.length === 1 ? 'this session' : `these ${sessions.length} sessions`
  const remove = async () => {
    await Promise.all(sessions.map((info) => act('session.delete', { session: info.id })))
    props.done()
  }
  return (
    <Confirm opened close={props.close} title={`Delete ${count}?`} action="Delete" run={remove}>
      Everything said in them is lost, and their turns can no longer be undone:{' '}
      <strong>{sessions.map((info) => info.name || 'unnamed').join(', ')}</strong>. The files in their folders stay as
      they are. To keep them out of the way instead, archive them.
    </Confirm>
  )
}
