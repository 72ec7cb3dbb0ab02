import { SegmentedControl, Select } from '@mantine/core'
import { useMemo, useState } from 'react'
import { useAsk } from '@/lib/ask'
import { bytes, duration, folderName } from '@/lib/format'
import { useNow } from '@/lib/time'
import { Chip, Filter, Quiet, Section } from '@/parts/Listing'
import { Page } from '@/parts/Page'
import { ErrorState, LoadingRows } from '@/parts/states'
import type { ConfigValue } from '@/protocol/types'
import { useOverview } from '@/state/overview'
import { CodeIndex } from './CodeIndex'
import './settings.css'

type Show = 'all' | 'set'

export default function Settings() {
  const [cwd, setCwd] = useState('')
  const [show, setShow] = useState<Show>('all')
  const [query, setQuery] = useState('')
  const cards = useOverview((state) => state.cards)
  const folders = useMemo(() => [...new Set(Object.values(cards).map(({ info }) => info.cwd))].sort(), [cards])
  const config = useAsk('config.show', { cwd })
  const text = query.trim().toLowerCase()
  const values = (config.data?.values ?? []).filter(
    (value) =>
      (show === 'all' || value.source !== 'default') &&
      (!text || `${value.key} ${JSON.stringify(value.value)}`.toLowerCase().includes(text)),
  )
  return (
    <Page
      title="Settings"
      actions={
        <>
          <Filter label="Filter settings" value={query} change={setQuery} />
          <SegmentedControl
            size="xs"
            aria-label="Which settings"
            value={show}
            onChange={(value) => setShow(value as Show)}
            data={[
              { value: 'all', label: 'all' },
              { value: 'set', label: 'changed' },
            ]}
          />
          <Select
            size="xs"
            w={220}
            aria-label="In which folder"
            searchable
            allowDeselect={false}
            value={cwd}
            onChange={(value) => setCwd(value ?? '')}
            data={[{ value: '', label: 'everywhere' }, ...folders]}
          />
        </>
      }
    >
      {cwd ? <CodeIndex key={cwd} cwd={cwd} /> : <Daemon />}
      <Section
        title="Configuration"
        about={
          config.data?.files?.length ? (
            <>
              Read from <FileNames files={config.data.files} />. Later places win; what nobody set has its default.
            </>
          ) : (
            'No configuration file was found: everything has its default.'
          )
        }
      >
        {config.data?.notes && config.data.notes.length > 0 && (
          <ul className="notices">
            {config.data.notes.map((note) => (
              <li key={note}>{note}</li>
            ))}
          </ul>
        )}
        {config.isPending ? (
          <LoadingRows count={10} height={32} />
        ) : config.error ? (
          <ErrorState problem={config.error} retry={() => void config.refetch()} />
        ) : values.length === 0 ? (
          <Quiet>No setting matches.</Quiet>
        ) : (
          [...byTable(values)].map(([table, list]) => <Table key={table} name={table} values={list} />)
        )}
      </Section>
    </Page>
  )
}

function FileNames({ files }: { files: string[] }) {
  return files.map((file, index) => (
    <span key={file}>
      {index > 0 && ', '}
      <span className="mono">{file}</span>
    </span>
  ))
}

function byTable(values: ConfigValue[]): Map<string, ConfigValue[]> {
  const tables = new Map<string, ConfigValue[]>()
  for (const value of values) {
    const dot = value.key.lastIndexOf('.')
    const table = dot < 0 ? '' : value.key.slice(0, dot)
    tables.set(table, [...(tables.get(table) ?? []), value])
  }
  return tables
}

function Table({ name, values }: { name: string; values: ConfigValue[] }) {
  return (
    <div className="panel config">
      <h3 className="mono">{name ? `[${name}]` : 'top of the file'}</h3>
      <dl>
        {values.map(({ key, value, source }) => (
          <div key={key} className="config-row">
            <dt className="mono">{key.slice(name ? name.length + 1 : 0)}</dt>
            <dd className="mono config-value">{shown(value)}</dd>
            <dd className="config-source">
              {source === 'default' ? (
                <span className="dim">default</span>
              ) : (
                <Chip tone="accent" title={source}>
                  {folderName(source)}
                </Chip>
              )}
            </dd>
          </div>
        ))}
      </dl>
    </div>
  )
}

function shown(value: unknown) {
  if (value === '' || value === null || (Array.isArray(value) && value.length === 0))
    return <span className="dim">–</span>
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function Daemon() {
  const status = useAsk('daemon.status', {})
  const now = useNow(10_000)
  const info = status.data
  if (!info) return null
  const facts: [string, string][] = [
    ['Version', info.version],
    ['Protocol', info.protocol],
    ['Process', String(info.pid)],
    ['Running for', info.started_at ? duration((now - info.started_at) * 1000) : '–'],
    ['Memory', info.rss_bytes ? bytes(info.rss_bytes) : '–'],
    ['Jail', info.jail ?? '–'],
    ['Data', info.home ?? '–'],
    ['Socket', info.socket],
  ]
  return (
    <Section title="Daemon">
      <dl className="panel facts">
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd className="mono" title={value}>
              {value}
            </dd>
          </div>
        ))}
      </dl>
    </Section>
  )
}
