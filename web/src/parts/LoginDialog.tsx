import { Button, TextInput } from '@mantine/core'
import { IconExternalLink } from '@tabler/icons-react'
import { useEffect, useState } from 'react'
import { useNow } from '@/lib/time'
import type { LoginStarted } from '@/protocol/types'
import './login-dialog.css'
import { CopyButton } from './CodeBlock'
import { LoadingRows } from './states'

/** A login in the browser: an address to open, a code to paste where the browser cannot come back by itself. */
export function LoginDialog(props: {
  begin: () => Promise<LoginStarted>
  finish: (login: string, answer?: string) => Promise<unknown>
  /** It went well. */
  ended: () => Promise<void>
  done: () => void
}) {
  const { done } = props
  const [login, setLogin] = useState<LoginStarted | null>(null)
  const [answer, setAnswer] = useState('')
  const [problem, setProblem] = useState('')
  const [mistyped, setMistyped] = useState('')
  const [busy, setBusy] = useState(false)

  const start = async () => {
    setProblem('')
    setLogin(null)
    try {
      const started = await props.begin()
      setLogin(started)
      // Answered when the browser has come back to the daemon, or the code was pasted.
      await props.finish(started.login)
      await props.ended()
      done()
    } catch (refused) {
      setProblem(refused instanceof Error ? refused.message : String(refused))
    }
  }
  // One login for each time it is opened.
  useEffect(() => void start(), [])

  const paste = async () => {
    if (!login) return
    setBusy(true)
    setMistyped('')
    try {
      await props.finish(login.login, answer.trim())
    } catch (refused) {
      // The login goes on waiting: the next code may be the right one.
      setMistyped(refused instanceof Error ? refused.message : String(refused))
    }
    setBusy(false)
  }

  if (problem)
    return (
      <div className="form">
        <p className="form-problem" role="alert">
          {problem}
        </p>
        <div className="form-actions">
          <Button variant="default" onClick={done}>
            Close
          </Button>
          <Button onClick={() => void start()}>Start again</Button>
        </div>
      </div>
    )
  if (!login) return <LoadingRows count={2} height={40} />
  return (
    <form
      className="form"
      onSubmit={(event) => {
        event.preventDefault()
        void paste()
      }}
    >
      <ol className="login-steps">
        <li>
          <p>Open this address and say yes there. On another device, copy it.</p>
          {login.code && (
            <p>
              Enter there: <strong className="mono login-code">{login.code}</strong> <CopyButton text={login.code} />
            </p>
          )}
          <div className="login-address">
            <TextInput
              aria-label="Address to open"
              readOnly
              value={login.url}
              classNames={{ input: 'mono' }}
              onFocus={(event) => event.currentTarget.select()}
              rightSection={<CopyButton text={login.url} />}
            />
            <Button
              component="a"
              href={login.url}
              target="_blank"
              rel="noopener noreferrer"
              leftSection={<IconExternalLink size={14} />}
            >
              Open
            </Button>
          </div>
        </li>
        {login.code ? (
          <li>
            <p>This closes by itself.</p>
          </li>
        ) : (
          <li>
            <p>
              {login.pasted
                ? 'Paste the code that the page shows.'
                : 'This closes by itself when the browser is on the daemon’s machine. Elsewhere, paste the code, or the whole address that the browser ends at.'}
            </p>
            <div className="login-address">
              <TextInput
                aria-label="Code or address"
                placeholder="Code or address"
                value={answer}
                onChange={(event) => setAnswer(event.currentTarget.value)}
                classNames={{ input: 'mono' }}
                autoComplete="off"
              />
              <Button type="submit" variant="default" loading={busy} disabled={!answer.trim()}>
                Finish
              </Button>
            </div>
          </li>
        )}
      </ol>
      {mistyped && (
        <p className="form-problem" role="alert">
          {mistyped}
        </p>
      )}
      <Waiting until={login.expires_at} />
    </form>
  )
}

function Waiting({ until }: { until: number }) {
  const now = useNow(1000)
  const left = Math.max(0, Math.round(until - now))
  return (
    <p className="field-hint" role="status">
      <span className="login-dot" aria-hidden /> Waiting for the provider;{' '}
      <span className="mono">
        {Math.floor(left / 60)}:{String(left % 60).padStart(2, '0')}
      </span>{' '}
      left
    </p>
  )
}
