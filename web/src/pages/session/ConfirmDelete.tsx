import { Button } from '@mantine/core'
import { useNavigate } from '@tanstack/react-router'
import { act } from '@/lib/ask'
import { Dialog } from '@/parts/Dialog'
import type { SessionInfo } from '@/protocol/types'

export default function ConfirmDelete({ info, close }: { info: SessionInfo; close: () => void }) {
  const navigate = useNavigate()
  const remove = async () => {
    if (await act('session.delete', { session: info.id })) void navigate({ to: '/' })
  }
  return (
    <Dialog onClose={close} title="Delete this session?" size="sm" centered>
      <p>
        Everything said in <strong>{info.name || 'it'}</strong> is lost, and its turns can no longer be undone. The
        files in {info.cwd} stay as they are.
      </p>
      <div className="dialog-actions">
        <Button variant="default" onClick={close} data-autofocus>
          Keep it
        </Button>
        <Button color="red" onClick={() => void remove()}>
          Delete
        </Button>
      </div>
    </Dialog>
  )
}
