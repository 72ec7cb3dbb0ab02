import { Button } from '@mantine/core'
import { IconLogout } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { exactTime } from '@/lib/format'
import { signOut } from '@/lib/sign-out'
import { Row, Rows, Section } from '@/parts/Listing'
import { usePeople } from '@/state/people'

interface Me {
  name: string
  expires_at?: number
}

/** The login of the browser one looks with, and its end. */
export function ThisBrowser() {
  const me = useQuery<Me>({
    queryKey: ['/api/me'],
    queryFn: async () => (await fetch('/api/me')).json() as Promise<Me>,
  })
  const [busy, setBusy] = useState(false)
  const person = usePeople((state) => state.person)
  const leave = async () => {
    setBusy(true)
    if (!(await signOut())) setBusy(false)
  }
  return (
    <Section
      title="This browser"
      about={
        person
          ? 'Your own login here. Agents go on when you log out.'
          : 'Logged in with an address that openagent web printed. Agents go on when you log out.'
      }
    >
      <Rows label="This browser">
        <Row
          name={me.data?.name || 'This browser'}
          about={
            me.data?.expires_at ? (
              <>
                Logged in until <span className="mono">{exactTime(me.data.expires_at)}</span>
              </>
            ) : (
              'Logged in'
            )
          }
          actions={
            <Button
              size="compact-sm"
              variant="default"
              leftSection={<IconLogout size={14} />}
              loading={busy}
              onClick={() => void leave()}
            >
              Log out
            </Button>
          }
        />
      </Rows>
    </Section>
  )
}
