import { Autocomplete, Button, Textarea } from '@mantine/core'
import { useNavigate } from '@tanstack/react-router'
import { useMemo, useState } from 'react'
import { act } from '@/lib/ask'
import { useOverview } from '@/state/overview'

/** A session whose agent is this template. */
export function StartFrom({ template, done }: { template: string; done: () => void }) {
  const navigate = useNavigate()
  const cards = useOverview((state) => state.cards)
  const folders = useMemo(() => {
    const newest = Object.values(cards).sort((one, other) => other.info.updated_at - one.info.updated_at)
    return [...new Set(newest.map(({ info }) => info.cwd))]
  }, [cards])
  const [cwd, setCwd] = useState(folders[0] ?? '')
  const [message, setMessage] = useState('')
  const [busy, setBusy] = useState(false)
  const start = async () => {
    setBusy(true)
    const made = await act('session.create', { cwd, template })
    setBusy(false)
    if (!made) return
    done()
    void navigate({ to: '/sessions/$id', params: { id: made.id } })
    if (message.trim()) void act('message.send', { session: made.id, text: message })
  }
  return (
    <form
      className="form"
      onSubmit={(event) => {
        event.preventDefault()
        void start()
      }}
    >
      <Autocomplete
        label="Directory"
        description="Where the agent works: an absolute path on the daemon's machine."
        placeholder="/home/me/project"
        data={folders}
        value={cwd}
        onChange={setCwd}
        classNames={{ input: 'mono' }}
        required
        data-autofocus
      />
      <Textarea
        label="First message"
        placeholder="What is to be done?"
        autosize
        minRows={3}
        maxRows={10}
        value={message}
        onChange={(event) => setMessage(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === 'Enter' && (event.metaKey || event.ctrlKey)) void start()
        }}
      />
      <div className="form-actions">
        <Button variant="default" onClick={done}>
          Cancel
        </Button>
        <Button type="submit" loading={busy} disabled={!cwd.trim()}>
          {message.trim() ? 'Start' : 'Create'}
        </Button>
      </div>
    </form>
  )
}
