import { Button, Code, PasswordInput } from '@mantine/core'
import { IconLock } from '@tabler/icons-react'
import { useState } from 'react'
import { useTitle } from '@/parts/Page'
import { keepToken } from '@/state/daemon'
import { useLink } from '@/state/link'

/** The daemon knows its own people by a token. */
export function SignIn() {
  useTitle('Sign in')
  const why = useLink(({ link }) => (link.state === 'refused' ? link.why : ''))
  const [token, setToken] = useState('')
  return (
    <main className="sign-in">
      <form
        className="panel sign-in-panel"
        onSubmit={(event) => {
          event.preventDefault()
          keepToken(token.trim())
          location.reload()
        }}
      >
        <div className="state-icon" aria-hidden>
          <IconLock size={22} />
        </div>
        <h1>Sign in to OpenAgent</h1>
        <p className="dim">{why}</p>
        <PasswordInput
          label="Token"
          description={
            <>
              On the daemon's machine, <Code>openagent web</Code> opens this page signed in.
            </>
          }
          value={token}
          onChange={(event) => setToken(event.currentTarget.value)}
          autoFocus
        />
        <Button type="submit" fullWidth disabled={!token.trim()}>
          Sign in
        </Button>
      </form>
    </main>
  )
}
