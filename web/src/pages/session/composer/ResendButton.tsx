import { ActionIcon } from '@mantine/core'
import { IconPencil } from '@tabler/icons-react'
import { Tip } from '@/parts/Tip'
import { type Resend, sayAgain } from './resend'

/** Beside an earlier message: brings it back into the input, to be sent again from there. */
export function ResendButton({ one }: { one: Resend }) {
  return (
    <Tip label="Edit or send again">
      <ActionIcon size="xs" variant="subtle" color="gray" aria-label="Edit or send again" onClick={() => sayAgain(one)}>
        <IconPencil size={13} />
      </ActionIcon>
    </Tip>
  )
}
