import { Button } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import { Modal } from '@/parts/Dialog'
import './listing.css'

/** Asks once before something is lost: what, and what it means. */
export function Confirm(props: {
  opened: boolean
  close: () => void
  title: string
  children: ReactNode
  action: string
  run: () => Promise<unknown>
}) {
  const [busy, setBusy] = useState(false)
  const run = async () => {
    setBusy(true)
    await props.run()
    setBusy(false)
    props.close()
  }
  return (
    <Modal opened={props.opened} onClose={props.close} title={props.title} centered>
      <p className="confirm-text">{props.children}</p>
      <div className="form-actions">
        <Button variant="default" onClick={props.close} data-autofocus>
          Cancel
        </Button>
        <Button color="red" loading={busy} onClick={() => void run()}>
          {props.action}
        </Button>
      </div>
    </Modal>
  )
}
