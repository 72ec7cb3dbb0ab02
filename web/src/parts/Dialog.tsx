import { Modal, type ModalProps } from '@mantine/core'
import { useFocusBack } from '@/lib/focus-back'

/** A dialog that is there only while it is open. */
export function Dialog(props: Omit<ModalProps, 'opened'>) {
  useFocusBack()
  return <Modal opened {...props} />
}
