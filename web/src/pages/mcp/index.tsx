import { Button, Menu, Select } from '@mantine/core'
import {
  IconChevronDown,
  IconFileImport,
  IconListSearch,
  IconPlugConnected,
  IconPlus,
  IconTerminal2,
  IconWorld,
} from '@tabler/icons-react'
import { useMemo, useState } from 'react'
import { useAsk } from '@/lib/ask'
import { useLive } from '@/lib/live'
import { Modal } from '@/parts/Dialog'
import { Filter, Quiet, Rows } from '@/parts/Listing'
import { Page } from '@/parts/Page'
import { EmptyState, ErrorState, LoadingRows } from '@/parts/states'
import { useOverview } from '@/state/overview'
import { AddServer } from './AddServer'
import { Catalogue } from './Catalogue'
import { ImportServers } from './ImportServers'
import { ServerRow } from './ServerRow'
import './mcp.css'

type Adding = 'command' | 'url' | 'catalogue' | 'import' | null

const TITLES = {
  command: 'Add a server that runs here',
  url: 'Add a server at an address',
  catalogue: 'Known servers',
  import: 'Import servers',
} as const

export default function Mcp() {
  const [folder, setFolder] = useState('')
  const [adding, setAdding] = useState<Adding>(null)
  const [query, setQuery] = useState('')
  const cards = useOverview((state) => state.cards)
  const folders = useMemo(() => [...new Set(Object.values(cards).map(({ info }) => info.cwd))].sort(), [cards])
  const status = useAsk('daemon.status', {})
  // Where no project is meant, servers are tried out in the daemon's own folder.
  const cwd = folder || status.data?.home || ''
  useLive(['mcp.status'], 'mcp.list')
  const servers = useAsk('mcp.list', { cwd }, { enabled: cwd !== '' })
  const text = query.trim().toLowerCase()
  const all = servers.data?.servers ?? []
  const shown = all.filter((one) => `${one.name} ${one.target} ${one.description}`.toLowerCase().includes(text))
  const close = () => setAdding(null)
  return (
    <Page
      title="MCP servers"
      actions={
        <>
          {all.length > 0 && <Filter label="Filter servers" value={query} change={setQuery} />}
          <Select
            size="xs"
            w={220}
            aria-label="In which folder"
            searchable
            allowDeselect={false}
            value={folder}
            onChange={(value) => setFolder(value ?? '')}
            data={[{ value: '', label: 'everywhere' }, ...folders]}
          />
          <AddMenu choose={setAdding} />
        </>
      }
    >
      <p className="page-lead dim">
        Servers give agents more tools, and things to read. Those that run here run in the jail, like every command.
      </p>
      {servers.data?.notices && servers.data.notices.length > 0 && (
        <ul className="notices">
          {servers.data.notices.map((notice) => (
            <li key={notice}>{notice}</li>
          ))}
        </ul>
      )}
      {servers.isPending ? (
        <LoadingRows count={4} height={56} />
      ) : servers.error ? (
        <ErrorState problem={servers.error} retry={() => void servers.refetch()} />
      ) : all.length === 0 ? (
        <EmptyState
          icon={<IconPlugConnected size={24} />}
          title="No servers yet"
          action={<Button onClick={() => setAdding('catalogue')}>Look at known servers</Button>}
        >
          The Model Context Protocol connects agents to other programs: an issue tracker, a browser, a database.
        </EmptyState>
      ) : shown.length === 0 ? (
        <Quiet>No server matches. Clear the filter to see all {all.length}.</Quiet>
      ) : (
        <Rows label="MCP servers">
          {shown.map((server) => (
            <ServerRow key={server.name} server={server} cwd={cwd} />
          ))}
        </Rows>
      )}
      <Modal
        opened={adding !== null}
        onClose={close}
        title={adding ? TITLES[adding] : ''}
        size="lg"
        keepMounted={false}
      >
        {(adding === 'command' || adding === 'url') && <AddServer by={adding} cwd={cwd} done={close} />}
        {adding === 'catalogue' && <Catalogue taken={all.map(({ name }) => name)} cwd={cwd} done={close} />}
        {adding === 'import' && <ImportServers done={close} />}
      </Modal>
    </Page>
  )
}

function AddMenu({ choose }: { choose: (adding: Adding) => void }) {
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <Button size="xs" leftSection={<IconPlus size={16} />} rightSection={<IconChevronDown size={14} />}>
          Add a server
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item leftSection={<IconListSearch size={16} />} onClick={() => choose('catalogue')}>
          From the catalogue
        </Menu.Item>
        <Menu.Item leftSection={<IconTerminal2 size={16} />} onClick={() => choose('command')}>
          By its command
        </Menu.Item>
        <Menu.Item leftSection={<IconWorld size={16} />} onClick={() => choose('url')}>
          By its address
        </Menu.Item>
        <Menu.Item leftSection={<IconFileImport size={16} />} onClick={() => choose('import')}>
          From another program’s file
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  )
}
