import { Drawer } from '@mantine/core'
import type { ReactNode } from 'react'
import { useFocusBack } from '@/lib/focus-back'

/** A side pane where there is no room for one beside the conversation. */
export default function Pane(props: { title: string; side: 'left' | 'right'; close: () => void; children: ReactNode }) {
  useFocusBack()
  return (
    <Drawer opened onClose={props.close} title={props.title} position={props.side} size={320}>
      {props.children}
    </Drawer>
  )
}
