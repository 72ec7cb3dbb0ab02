import { Button } from '@mantine/core'
import { IconLink } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { Link, Navigate } from '@tanstack/react-router'
import { useState } from 'react'
import { messageOf } from '@/lib/ask'
import { EmptyState } from '@/parts/states'
import { daemon } from '@/state/daemon'

/** Where a link to a session leads: it is opened for whoever is logged in. It stands behind the #, which is sent to nobody. */
export default function Join() {
  const [link] = useState(() => location.hash.slice(1))
  const joined = useQuery({
    queryKey: ['session.join', link],
    queryFn: async () => {
      const info = await daemon.request('session.join', { link })
      await daemon.askWhoIsHere()
      return info
    },
    retry: false,
  })
  if (joined.data) return <Navigate to="/sessions/$id" params={{ id: joined.data.id }} replace />
  return (
    <EmptyState
      icon={<IconLink size={24} />}
      title={joined.error ? 'This link opens nothing' : 'Opening the session …'}
      action={
        joined.error && (
          <Button variant="default" component={Link} to="/">
            To your sessions
          </Button>
        )
      }
    >
      {joined.error ? messageOf(joined.error) : 'Somebody shares it with you.'}
    </EmptyState>
  )
}
