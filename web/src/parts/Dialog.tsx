import { Modal as Mantine, type ModalProps } from '@mantine/core'
import { useFocusBack } from '@/lib/focus-back'

/** A dialog that knows where the focus was before, however it was opened. */
export function Modal(props: ModalProps) {
  useFocusBack(props.opened)
  return <Mantine returnFocus={false} {...props} />
}

/** A dialog that is there only while it is open. */
export function Dialog(props: Omit<ModalProps, 'opened'>) {
  return <Modal opened {...props} />
}
