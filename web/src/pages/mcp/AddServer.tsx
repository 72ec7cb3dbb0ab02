import { NumberInput, TagsInput, Textarea, TextInput } from '@mantine/core'
import { useState } from 'react'
import { Choice } from '@/parts/Choice'
import { Form } from '@/parts/Form'
import type { McpKept, McpServerEntry } from '@/protocol/types'
import { Failed, useTriedServer } from './trying'
import { line, lines, pairs, words } from './words'

type Network = 'jail' | 'on' | 'off' | 'hosts'

/** A server by its command line or its address: a new one, or one that is there. It is started before it is kept. */
export function AddServer({
  by,
  edited,
  cwd,
  done,
}: {
  by: 'command' | 'url'
  edited?: McpKept
  cwd: string
  done: () => void
}) {
  const { keep, failed, busy } = useTriedServer(cwd, done)
  const before = edited?.server
  const [name, setName] = useState(edited?.name ?? '')
  const [target, setTarget] = useState(before ? (before.url ?? '') || line(before) : '')
  const [given, setGiven] = useState(before ? lines(by === 'command' ? before.env : before.headers, by) : '')
  const [network, setNetwork] = useState<Network>(networkOf(before))
  const [hosts, setHosts] = useState<string[]>(Array.isArray(before?.network) ? before.network : [])
  const [timeout, setTimeout] = useState<number | string>(before?.timeout ?? 60)

  const entry = (): McpServerEntry => {
    const own = by === 'command' ? commandEntry(target, pairs(given, '=')) : addressEntry(target, pairs(given, ':'))
    if (by === 'command' && network !== 'jail') own.network = network === 'hosts' ? hosts : network
    // What this form does not show stays: its description, how to log in to it, whether it is off.
    const { command: _, args: __, env: ___, url: ____, headers: _____, network: ______, ...rest } = before ?? {}
    return { ...rest, ...own, timeout: Number(timeout) || 60 }
  }
  const work = (untried = false) => keep(name.trim(), entry(), { replace: edited !== undefined, untried })

  return (
    <Form work={() => work()} action="Try and save" ready={name.trim() !== '' && target.trim() !== ''} leave={done}>
      <TextInput
        label="Name"
        description="Agents see its tools under this name."
        placeholder={by === 'command' ? 'time' : 'tracker'}
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
        disabled={edited !== undefined}
        required
        data-autofocus
      />
      {by === 'command' ? (
        <TextInput
          label="Command"
          description="With its arguments, as in a shell. It runs in the jail."
          placeholder="mcp-server-time --local-timezone Europe/Vienna"
          value={target}
          onChange={(event) => setTarget(event.currentTarget.value)}
          classNames={{ input: 'mono' }}
          required
        />
      ) : (
        <TextInput
          label="Address"
          placeholder="https://mcp.example.com/mcp"
          value={target}
          onChange={(event) => setTarget(event.currentTarget.value)}
          classNames={{ input: 'mono' }}
          type="url"
          required
        />
      )}
      <Textarea
        label={by === 'command' ? 'Environment' : 'Headers'}
        description={`One per line. $\{NAME} stands for a variable of the daemon’s environment, so a secret need not be written here.${edited ? ' What is kept is not shown: a name without a value keeps it.' : ''}`}
        placeholder={by === 'command' ? 'API_TOKEN=${API_TOKEN}' : 'Authorization: Bearer ${API_TOKEN}'}
        value={given}
        onChange={(event) => setGiven(event.currentTarget.value)}
        classNames={{ input: 'mono' }}
        autosize
        minRows={2}
      />
      {by === 'command' && (
        <div>
          <div className="field-label" aria-hidden>
            Network
          </div>
          <Choice
            wide
            label="Network"
            value={network}
            choose={setNetwork}
            choices={[
              { value: 'jail', label: 'as the jail has it' },
              { value: 'off', label: 'none' },
              { value: 'hosts', label: 'these hosts' },
              { value: 'on', label: 'everything' },
            ]}
          />
          {network === 'hosts' && (
            <TagsInput aria-label="Hosts" placeholder="api.example.com" value={hosts} onChange={setHosts} mt={8} />
          )}
        </div>
      )}
      <NumberInput label="Seconds a call may take" value={timeout} onChange={setTimeout} min={1} max={3600} />
      <Failed server={failed} busy={busy} keep={() => void work(true)} />
    </Form>
  )
}

function commandEntry(line: string, env: Record<string, string>): McpServerEntry {
  const [command, ...args] = words(line)
  return { command, args, env }
}

function addressEntry(url: string, headers: Record<string, string>): McpServerEntry {
  return { url: url.trim(), headers }
}

function networkOf(entry: McpServerEntry | undefined): Network {
  if (!entry?.network) return 'jail'
  return Array.isArray(entry.network) ? 'hosts' : (entry.network as Network)
}
