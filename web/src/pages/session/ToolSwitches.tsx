import { Popover, Switch, TextInput } from '@mantine/core'
import { useState } from 'react'
import { act, useAsk } from '@/lib/ask'
import { useOpenAtOnce } from '@/parts/Demand'
import { LoadingRows } from '@/parts/states'
import type { SessionInfo, ToolInfo } from '@/protocol/types'
import { ToolsTrigger } from './triggers'

/** Which tools and MCP servers the next message may use. */
export default function ToolSwitches({ info }: { info: SessionInfo }) {
  const { opened, setOpened, button } = useOpenAtOnce()
  return (
    <Popover opened={opened} onChange={setOpened} width={340} position="bottom-start" trapFocus>
      <Popover.Target>
        <ToolsTrigger ref={button} info={info} onClick={() => setOpened(!opened)} />
      </Popover.Target>
      <Popover.Dropdown className="tools-list">
        <Lists info={info} />
      </Popover.Dropdown>
    </Popover>
  )
}

function Lists({ info }: { info: SessionInfo }) {
  const [query, setQuery] = useState('')
  const tools = useAsk('tools.list', { session: info.id }, { staleTime: 0 })
  const servers = useAsk('mcp.list', { session: info.id }, { staleTime: 0 })
  const disabled = info.settings?.disabled_tools ?? []
  const serversOff = info.settings?.disabled_mcp_servers ?? []
  const change = (settings: { disabled_tools?: string[]; disabled_mcp_servers?: string[] }) =>
    void act('session.update', { session: info.id, settings })
  const found = (tools.data?.tools ?? []).filter(({ name }) => name.includes(query.toLowerCase()))
  const sources = [...new Set(found.map(({ source }) => source ?? 'built-in'))]
  return (
    <>
      <TextInput
        size="xs"
        aria-label="Search tools"
        placeholder="Search tools"
        value={query}
        onChange={(event) => setQuery(event.currentTarget.value)}
        data-autofocus
      />
      <div className="tools-scroll">
        {tools.isLoading && <LoadingRows count={5} height={22} />}
        {servers.data && servers.data.servers.length > 0 && (
          <section>
            <h2>MCP servers</h2>
            {servers.data.servers.map((server) => (
              <Switch
                key={server.name}
                size="xs"
                label={server.name}
                description={server.status}
                disabled={server.status === 'disabled'}
                checked={server.status !== 'disabled' && !serversOff.includes(server.name)}
                onChange={(event) =>
                  change({ disabled_mcp_servers: toggled(serversOff, server.name, event.currentTarget.checked) })
                }
              />
            ))}
          </section>
        )}
        {sources.map((source) => (
          <section key={source}>
            <h2>{source}</h2>
            {found
              .filter((tool) => (tool.source ?? 'built-in') === source)
              .map((tool: ToolInfo) => (
                <Switch
                  key={tool.name}
                  size="xs"
                  label={tool.name}
                  title={tool.description}
                  checked={!disabled.includes(tool.name)}
                  onChange={(event) =>
                    change({ disabled_tools: toggled(disabled, tool.name, event.currentTarget.checked) })
                  }
                />
              ))}
          </section>
        ))}
        {tools.data && found.length === 0 && <p className="dim">No tool is called that.</p>}
      </div>
    </>
  )
}

function toggled(off: string[], name: string, on: boolean): string[] {
  return on ? off.filter((one) => one !== name) : [...off, name]
}
