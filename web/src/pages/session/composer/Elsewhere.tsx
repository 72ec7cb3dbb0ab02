import { Dialog } from '@/parts/Dialog'
import type { SessionInfo } from '@/protocol/types'
import { forget, say, type Unsent } from '@/state/outbox'
import { MoveOn } from '../settings/MoveOn'

/** The folder of a session is no more: what was said in it goes along to another one, and what could not be sent is said there. */
export default function Elsewhere(props: { info: SessionInfo; unsent: Unsent; close: () => void }) {
  const { info, unsent, close } = props
  const goOn = (there: SessionInfo) => {
    close()
    forget(unsent.id)
    say(there.id, unsent.text, unsent.parts)
  }
  return (
    <Dialog onClose={close} title="Go on in another folder" size="lg" centered>
      <MoveOn info={info} back={close} done={goOn} />
    </Dialog>
  )
}
