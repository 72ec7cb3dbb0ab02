import { Button } from '@mantine/core'
import { IconPlugConnectedX } from '@tabler/icons-react'
import { EmptyState } from '@/parts/states'
import { useLink } from '@/state/link'

/** The daemon does not talk to this page: it is of another version. */
export function Refused() {
  const why = useLink(({ link }) => (link.state === 'refused' ? link.why : ''))
  return (
    <main>
      <EmptyState
        icon={<IconPlugConnectedX size={24} />}
        title="The daemon refuses this page"
        action={<Button onClick={() => location.reload()}>Load it again</Button>}
      >
        {why}
      </EmptyState>
    </main>
  )
}
