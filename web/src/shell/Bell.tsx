import { ActionIcon } from '@mantine/core'
import { IconBell, IconBellRinging } from '@tabler/icons-react'
import { Tip } from '@/parts/Tip'
import { canNotify, switchNotifying, useNotify } from './notifying'

/** Whether the browser calls the person back. */
export function Bell() {
  const on = useNotify((state) => state.on)
  if (!canNotify) return null
  const words = on ? 'Stop telling me when a session needs me' : 'Tell me when a session needs me or is done'
  return (
    <Tip label={words}>
      <ActionIcon
        variant="subtle"
        color={on ? 'indigo' : 'gray'}
        aria-label={words}
        aria-pressed={on}
        className="bell"
        onClick={() => void switchNotifying()}
      >
        {on ? <IconBellRinging size={18} /> : <IconBell size={18} />}
      </ActionIcon>
    </Tip>
  )
}
