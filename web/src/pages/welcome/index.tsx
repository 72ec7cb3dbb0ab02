import { Button } from '@mantine/core'
import { useNavigate } from '@tanstack/react-router'
import { useAsk } from '@/lib/ask'
import { useSkipped } from '@/parts/first-run'
import { Page } from '@/parts/Page'
import { useShell } from '@/shell/shell-state'
import { Sources } from './Sources'

/** What should answer? The first page of whoever has no model yet, and the place to choose another. */
export default function Welcome() {
  const navigate = useNavigate()
  const setup = useAsk('setup.show', {})
  const leave = () => {
    useSkipped.setState({ skipped: true })
    void navigate({ to: '/' })
  }
  const chosen = () => {
    leave()
    useShell.setState({ newSession: true })
  }
  return (
    <Page
      title="What should answer?"
      actions={
        <Button size="xs" variant="subtle" color="gray" onClick={leave}>
          {setup.data?.chosen ? 'Leave it as it is' : 'Not now'}
        </Button>
      }
    >
      <p className="page-lead dim">
        {setup.data?.chosen ? (
          <>
            Now it is <span className="mono">{setup.data.model}</span>. What you choose here answers new sessions; each
            session can take another.
          </>
        ) : (
          'Agents need a model. Choose one; it can be changed at any time, and each session can take another.'
        )}
      </p>
      <Sources chosen={chosen} done={() => useSkipped.setState({ skipped: true })} />
    </Page>
  )
}
