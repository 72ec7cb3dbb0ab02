import { IconPlugConnectedX } from '@tabler/icons-react'
import { EmptyState, LoadingRows } from '@/parts/states'
import { useLink } from '@/state/link'

/** In the place of a page that is being loaded. */
export function OnItsWay() {
  const away = useLink(({ link }) => link.state === 'lost' || link.state === 'connecting')
  if (away)
    return (
      <EmptyState icon={<IconPlugConnectedX size={24} />} title="Waiting for the daemon">
        This page comes from the daemon. It opens by itself when the daemon is back.
      </EmptyState>
    )
  return (
    <div className="page">
      <LoadingRows />
    </div>
  )
}
