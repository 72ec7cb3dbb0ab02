import { ActionIcon } from '@mantine/core'
import { IconDots } from '@tabler/icons-react'
import type { ComponentProps } from 'react'

export function MenuTrigger(props: Omit<ComponentProps<'button'>, 'color'>) {
  return (
    <ActionIcon variant="subtle" color="gray" size={30} aria-label="More" {...props}>
      <IconDots size={18} />
    </ActionIcon>
  )
}
