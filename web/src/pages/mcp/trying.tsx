import { Button } from '@mantine/core'
import { useState } from 'react'
import { tellProblem } from '@/lib/ask'
import { useRenew } from '@/lib/live'
import { tell } from '@/lib/tell'
import type { McpServerEntry, McpServerInfo } from '@/protocol/types'
import { daemon } from '@/state/daemon'

/** Starts a server as it would be, and keeps it if it comes up; if not, what it said stays until the next try. */
export function useTriedServer(cwd: string, done: () => void) {
  const renew = useRenew('mcp.list', 'tools.list', 'mcp.show')
  const [failed, setFailed] = useState<McpServerInfo | null>(null)
  const [busy, setBusy] = useState(false)
  const keep = async (name: string, server: McpServerEntry, how: { replace?: boolean; untried?: boolean } = {}) => {
    setBusy(true)
    try {
      if (!how.untried) {
        setFailed(null)
        const [tried] = (await daemon.request('mcp.test', { name, cwd, server })).servers
        if (tried && tried.status !== 'up') {
          setFailed(tried)
          return
        }
        const tools = tried?.tools?.length ?? 0
        tell({ tone: 'plain', title: `${name} works`, text: `It offers ${tools} tool${tools === 1 ? '' : 's'}.` })
      }
      await daemon.request('mcp.add', { name, server, replace: how.replace ?? false })
      await renew()
      done()
    } catch (problem) {
      if (how.untried) tellProblem(problem)
      else throw problem
    } finally {
      setBusy(false)
    }
  }
  return { keep, failed, busy }
}

/** Why it did not come up, and the way to keep it all the same: it may want a login, or a network that is not there. */
export function Failed({ server, keep, busy }: { server: McpServerInfo | null; keep: () => void; busy: boolean }) {
  if (!server) return null
  return (
    <div className="tried-failed" role="alert">
      <p>It did not come up: {server.detail || 'it said nothing.'}</p>
      <Button size="compact-sm" variant="default" loading={busy} onClick={keep}>
        Save it all the same
      </Button>
    </div>
  )
}
