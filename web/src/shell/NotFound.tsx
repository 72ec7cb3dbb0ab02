import { Button } from '@mantine/core'
import { IconMapOff } from '@tabler/icons-react'
import { Link } from '@tanstack/react-router'
import { EmptyState } from '@/parts/states'

export function NotFound() {
  return (
    <EmptyState
      icon={<IconMapOff size={24} />}
      title="There is no such page"
      action={
        <Button component={Link} to="/" variant="default">
          To the sessions
        </Button>
      }
    >
      The address may be mistyped, or from another version.
    </EmptyState>
  )
}
