import { Autocomplete } from '@mantine/core'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { Form } from '@/parts/Form'
import { useFolders } from '@/parts/Project'
import type { SessionInfo } from '@/protocol/types'
import { daemon } from '@/state/daemon'

/** The same conversation, going on in another folder. */
export function MoveOn(props: { info: SessionInfo; back: () => void; done: (there: SessionInfo) => void }) {
  const { info, back, done } = props
  const navigate = useNavigate()
  const folders = useFolders().filter((folder) => folder !== info.cwd)
  const [cwd, setCwd] = useState('')
  const move = async () => {
    const fork = await daemon.request('session.fork', { session: info.id, name: info.name, cwd: cwd.trim() })
    done(fork)
    await navigate({ to: '/sessions/$id', params: { id: fork.id } })
  }
  return (
    <Form work={move} action="Go on there" ready={cwd.trim().startsWith('/')} leave={back} back>
      <Autocomplete
        label="Directory"
        description="An absolute path on the daemon's machine."
        placeholder="/home/me/project"
        data={folders}
        value={cwd}
        onChange={setCwd}
        classNames={{ input: 'mono' }}
        data-autofocus
      />
      <p className="field-hint">
        What was said goes along. What was changed in {info.cwd} stays there, and is undone from this session.
      </p>
    </Form>
  )
}
