import { Button } from '@mantine/core'
import { IconLogout } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { tellProblem } from '@/lib/ask'
import { exactTime } from '@/lib/format'
import { Row, Rows, Section } from '@/parts/Listing'

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
  const leave = async () => {
    setBusy(true)
    try {
      const answer = await fetch('/api/logout', { method: 'POST' })
      if (!answer.ok) throw new Error('The daemon did not end the login.')
      location.assign('/login')
    } catch (problem) {
      tellProblem(problem)
      setBusy(false)
    }
  }
  return (
    <Section
      title="This browser"
      about="Logged in with an address that openagent web printed. Agents go on when you log out."
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
