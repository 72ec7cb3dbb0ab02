import { NumberInput, SegmentedControl, TagsInput, Textarea, TextInput } from '@mantine/core'
import { useState } from 'react'
import { useRenew } from '@/lib/live'
import { Form } from '@/parts/Form'
import type { McpServerEntry } from '@/protocol/types'
import { daemon } from '@/state/daemon'
import { pairs, words } from './words'

type Network = 'jail' | 'on' | 'off' | 'hosts'

/** A server by its command line or its address. */
export function AddServer({ by, done }: { by: 'command' | 'url'; done: () => void }) {
  const renew = useRenew('mcp.list', 'tools.list')
  const [name, setName] = useState('')
  const [target, setTarget] = useState('')
  const [given, setGiven] = useState('')
  const [network, setNetwork] = useState<Network>('jail')
  const [hosts, setHosts] = useState<string[]>([])
  const [timeout, setTimeout] = useState<number | string>(60)

  const add = async () => {
    const server = by === 'command' ? commandEntry(target, pairs(given, '=')) : addressEntry(target, pairs(given, ':'))
    if (by === 'command' && network !== 'jail') server.network = network === 'hosts' ? hosts : network
    await daemon.request('mcp.add', { name: name.trim(), server: { ...server, timeout: Number(timeout) || 60 } })
    await renew()
    done()
  }

  return (
    <Form work={add} action="Add" ready={name.trim() !== '' && target.trim() !== ''} leave={done}>
      <TextInput
        label="Name"
        description="Agents see its tools under this name."
        placeholder={by === 'command' ? 'time' : 'tracker'}
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
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
        description={`One per line. $\{NAME} stands for a variable of the daemon’s environment, so a secret need not be written here.`}
        placeholder={by === 'command' ? 'API_TOKEN=${API_TOKEN}' : 'Authorization: Bearer ${API_TOKEN}'}
        value={given}
        onChange={(event) => setGiven(event.currentTarget.value)}
        classNames={{ input: 'mono' }}
        autosize
        minRows={2}
      />
      {by === 'command' && (
        <div>
          <div className="field-label" id="network-label">
            Network
          </div>
          <SegmentedControl
            aria-labelledby="network-label"
            fullWidth
            value={network}
            onChange={(value) => setNetwork(value as Network)}
            data={[
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
