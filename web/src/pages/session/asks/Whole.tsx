import type { ReactNode } from 'react'
import { Dialog } from '@/parts/Dialog'

/** The question on the whole screen, to be read and answered there. */
export default function Whole(props: { title: string; aside: ReactNode; close: () => void; children: ReactNode }) {
  return (
    <Dialog
      fullScreen
      onClose={props.close}
      title={
        <span className="ask-head">
          <strong>{props.title}</strong>
          {props.aside}
        </span>
      }
      classNames={{ body: 'ask-fills', content: 'ask-screen' }}
    >
      {props.children}
    </Dialog>
  )
}
