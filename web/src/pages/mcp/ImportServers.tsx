import { Button, TextInput } from '@mantine/core'
import { useState } from 'react'
import { useRenew } from '@/lib/live'
import { Form } from '@/parts/Form'
import type { McpImported } from '@/protocol/types'
import { daemon } from '@/state/daemon'

/** The servers of another program's file, by its place on the daemon's machine. */
export function ImportServers({ done }: { done: () => void }) {
  const renew = useRenew('mcp.list', 'tools.list')
  const [path, setPath] = useState('')
  const [found, setFound] = useState<McpImported | null>(null)
  const take = async () => {
    setFound(await daemon.request('mcp.import', { path: path.trim() }))
    await renew()
  }
  const told = [...(found?.notes ?? []), ...(found?.problems ?? [])]
  if (found)
    return (
      <div className="form">
        <p className="confirm-text" role="status">
          {found.added.length > 0 ? `Added: ${found.added.join(', ')}.` : 'Nothing was added.'}
          {found.kept && found.kept.length > 0 && ` There already, and left as they were: ${found.kept.join(', ')}.`}
        </p>
        {told.length > 0 && (
          <ul className="notices">
            {told.map((one) => (
              <li key={one}>{one}</li>
            ))}
          </ul>
        )}
        <div className="form-actions">
          <Button onClick={done}>Done</Button>
        </div>
      </div>
    )
  return (
    <Form work={take} action="Import" ready={path.trim() !== ''} leave={done}>
      <TextInput
        label="File"
        description="In which Claude, Cursor, VS Code, Gemini, codex, opencode, Copilot or Zed keeps its servers: an absolute path on the daemon’s machine."
        placeholder="/home/me/.cursor/mcp.json"
        value={path}
        onChange={(event) => setPath(event.currentTarget.value)}
        classNames={{ input: 'mono' }}
        required
        data-autofocus
      />
    </Form>
  )
}
