import { Select, Switch } from '@mantine/core'
import { IconChevronRight, IconTool } from '@tabler/icons-react'
import { useMemo, useState } from 'react'
import { act, useAsk } from '@/lib/ask'
import { useLive, useRenew } from '@/lib/live'
import { Choice } from '@/parts/Choice'
import { CodeBlock } from '@/parts/CodeBlock'
import { Chip, Filter, Quiet, Row, Rows, Section } from '@/parts/Listing'
import { Page } from '@/parts/Page'
import { EmptyState, ErrorState, LoadingRows } from '@/parts/states'
import type { ToolInfo } from '@/protocol/types'
import { useOverview } from '@/state/overview'
import './tools.css'

type Show = 'all' | 'on' | 'off'

const NEW_SESSIONS = ''

export default function Tools() {
  const [session, setSession] = useState(NEW_SESSIONS)
  const [show, setShow] = useState<Show>('all')
  const [query, setQuery] = useState('')
  const cards = useOverview((state) => state.cards)
  const sessions = useMemo(
    () =>
      Object.values(cards)
        .sort((one, other) => other.info.updated_at - one.info.updated_at)
        .map(({ info }) => ({ value: info.id, label: info.name || `Unnamed session ${info.id.slice(0, 8)}` })),
    [cards],
  )
  const tools = useTools(session)
  const wanted = query.trim().toLowerCase()
  const shown = tools.list.filter(
    (tool) =>
      (show === 'all' || tool.enabled === (show === 'on')) &&
      (!wanted || `${tool.name} ${tool.description}`.toLowerCase().includes(wanted)),
  )
  const off = tools.list.filter(({ enabled }) => !enabled).length
  return (
    <Page
      title="Tools"
      actions={
        <>
          <Filter label="Filter tools" value={query} change={setQuery} />
          <Choice
            label="Which tools"
            value={show}
            choose={setShow}
            choices={[
              { value: 'all', label: 'all' },
              { value: 'on', label: 'on' },
              { value: 'off', label: off ? `off (${off})` : 'off' },
            ]}
          />
          <Select
            size="xs"
            w={220}
            aria-label="For which sessions"
            searchable
            allowDeselect={false}
            value={session}
            onChange={(value) => setSession(value ?? NEW_SESSIONS)}
            data={[{ value: NEW_SESSIONS, label: 'new sessions' }, ...sessions]}
          />
        </>
      }
    >
      <p className="page-lead dim">
        {session === NEW_SESSIONS
          ? 'What agents can do in sessions that start from now on, kept in your configuration file. Choose a session to change what it has, its MCP servers’ tools included.'
          : 'What the agent of this session can do. A switch counts from its next step on.'}
      </p>
      {tools.loading ? (
        <LoadingRows count={8} height={52} />
      ) : tools.problem ? (
        <ErrorState problem={tools.problem} retry={tools.retry} />
      ) : tools.list.length === 0 ? (
        <EmptyState icon={<IconTool size={24} />} title="No tools">
          This daemon was started without tools, so agents can only talk.
        </EmptyState>
      ) : shown.length === 0 ? (
        <Quiet>No tool matches. Clear the filter to see all {tools.list.length}.</Quiet>
      ) : (
        [...bySource(shown)].map(([source, list]) => (
          <Section key={source} title={sourceWords(source)}>
            <Rows label={sourceWords(source)}>
              {list.map((tool) => (
                <ToolRow key={tool.name} tool={tool} session={session} />
              ))}
            </Rows>
          </Section>
        ))
      )}
    </Page>
  )
}

/** Of a session, what it has; otherwise what the configuration switches off counts. */
function useTools(session: string) {
  useLive(['session.updated', 'mcp.status'], 'tools.list')
  const tools = useAsk('tools.list', { session })
  const config = useAsk('config.show', {}, { enabled: session === NEW_SESSIONS })
  const switchedOff = config.data?.values.find(({ key }) => key === 'tools.off')?.value
  const off = Array.isArray(switchedOff) && session === NEW_SESSIONS ? switchedOff : []
  return {
    list: (tools.data?.tools ?? []).map((tool) => ({
      ...tool,
      enabled: tool.enabled !== false && !off.includes(tool.name),
    })),
    loading: tools.isPending || (session === NEW_SESSIONS && config.isPending),
    problem: tools.error ?? config.error,
    retry: () => void Promise.all([tools.refetch(), config.refetch()]),
  }
}

function bySource(tools: ToolInfo[]): Map<string, ToolInfo[]> {
  const groups = new Map<string, ToolInfo[]>()
  for (const tool of tools) {
    const source = tool.source ?? 'built-in'
    groups.set(source, [...(groups.get(source) ?? []), tool])
  }
  return groups
}

function sourceWords(source: string): string {
  if (source.startsWith('mcp:')) return `MCP server ${source.slice(4)}`
  return source === 'builtin' || source === 'built-in' ? 'Built in' : source
}

function ToolRow({ tool, session }: { tool: ToolInfo; session: string }) {
  const renew = useRenew('tools.list', 'config.show')
  const [open, setOpen] = useState(false)
  const [busy, setBusy] = useState(false)
  const change = async (on: boolean) => {
    setBusy(true)
    await act('tools.switch', { name: tool.name, on, session })
    await renew()
    setBusy(false)
  }
  const [summary, ...rest] = tool.description.split(/\n\n|(?<=[.!?])\s/, 2)
  return (
    <Row
      name={
        <button type="button" className="tool-name mono" aria-expanded={open} onClick={() => setOpen(!open)}>
          <IconChevronRight size={14} className={open ? 'tool-arrow-open' : ''} aria-hidden />
          {tool.name}
        </button>
      }
      chips={tool.read_only ? <Chip>reads</Chip> : <Chip tone="accent">changes</Chip>}
      about={<span className="tool-about">{summary}</span>}
      actions={
        <Switch
          checked={tool.enabled !== false}
          disabled={busy}
          aria-label={tool.name}
          onChange={(event) => void change(event.currentTarget.checked)}
        />
      }
    >
      {open && (
        <div className="tool-detail">
          {rest.length > 0 && <p>{tool.description}</p>}
          <CodeBlock code={JSON.stringify(tool.parameters, null, 2)} language="json" />
        </div>
      )}
    </Row>
  )
}
