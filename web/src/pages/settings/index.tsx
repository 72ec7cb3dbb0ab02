import { Select } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { useMemo, useState } from 'react'
import { flushSync } from 'react-dom'
import { useAsk } from '@/lib/ask'
import { useByAndBy } from '@/lib/by-and-by'
import { bytes, duration } from '@/lib/format'
import { useNow } from '@/lib/time'
import { Choice } from '@/parts/Choice'
import { Filter, Notices, Quiet, Section } from '@/parts/Listing'
import { Page } from '@/parts/Page'
import { ErrorState, LoadingRows } from '@/parts/states'
import { WithCode } from '@/parts/WithCode'
import { useOverview } from '@/state/overview'
import { Backups } from './Backups'
import { firstOf, type Group, grouped, lengthOf, matching } from './groups'
import { SettingRow } from './SettingRow'
import './settings.css'
import { TrustedFolders } from './TrustedFolders'

type Show = 'all' | 'set'

/** What a screen holds: few enough that drawing them is not felt. */
const AT_ONCE = 8

export default function Settings() {
  const [cwd, setCwd] = useState('')
  const [show, setShow] = useState<Show>('all')
  const [query, setQuery] = useState('')
  const cards = useOverview((state) => state.cards)
  const folders = useMemo(() => [...new Set(Object.values(cards).map(({ info }) => info.cwd))].sort(), [cards])
  const config = useAsk('config.show', { cwd })
  const described = useAsk('config.describe', {}, { staleTime: Number.POSITIVE_INFINITY })
  const groups = useMemo(
    () => grouped(described.data?.tables ?? [], config.data?.values ?? []),
    [described.data, config.data],
  )
  const shown = matching(groups, query, show === 'set')
  const length = lengthOf(shown)
  const { drawn, all } = useByAndBy(`${cwd} ${show} ${query}`, length, AT_ONCE)
  const searching = query.trim() !== '' || show === 'set'
  return (
    <Page
      title="Settings"
      actions={
        <>
          <Filter label="Filter settings" value={query} change={setQuery} />
          <Choice
            label="Which settings"
            value={show}
            choose={setShow}
            choices={[
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
      {config.isPending || described.isPending ? (
        <LoadingRows count={12} height={56} />
      ) : config.error || described.error ? (
        <ErrorState
          problem={config.error ?? described.error}
          retry={() => {
            void config.refetch()
            void described.refetch()
          }}
        />
      ) : (
        <>
          <Notices notices={config.data.notes} />
          <Where files={config.data.files ?? []} cwd={cwd} />
          {!searching && <Contents groups={shown} drawAll={all} />}
          {firstOf(shown, drawn).map((group) => (
            <GroupOf key={group.title} group={group} fixed={cwd !== ''} />
          ))}
          {length === 0 && <Quiet>No setting matches.</Quiet>}
          {!searching && drawn >= length && (
            <>
              <TrustedFolders />
              {!cwd && <Backups />}
              {!cwd && <Daemon />}
            </>
          )}
        </>
      )}
    </Page>
  )
}

function Where({ files, cwd }: { files: string[]; cwd: string }) {
  return (
    <p className="page-lead dim">
      {files.length > 0 ? (
        <>
          Read from <FileNames files={files} />. Later places win; what nobody set has its default.
        </>
      ) : (
        'Nobody set anything yet: all is as it comes.'
      )}{' '}
      {cwd
        ? 'This is what counts in that folder; to change your own settings, look at them everywhere.'
        : 'What you change here is checked, then written into your own file; comments in it stay.'}
    </p>
  )
}

const idOf = (title: string) => title.toLowerCase().replaceAll(/[^a-z]+/g, '-')

function Contents({ groups, drawAll }: { groups: Group[]; drawAll: () => void }) {
  return (
    <nav className="settings-contents" aria-label="Groups of settings">
      {groups.map(({ title }) => (
        // The browser goes to what is there when it was clicked.
        <a key={title} href={`#${idOf(title)}`} onClick={() => flushSync(drawAll)}>
          {title}
        </a>
      ))}
      <Link to={MCP}>MCP servers</Link>
      <Link to={KEYS}>Keys and logins</Link>
      <Link to={EXTRAS}>Extras</Link>
      <Link to="/welcome">What answers</Link>
    </nav>
  )
}

const MCP: string = '/settings/mcp'
const KEYS: string = '/auth'
const EXTRAS: string = '/settings/extras'

function GroupOf({ group, fixed }: { group: Group; fixed: boolean }) {
  return (
    <div id={idOf(group.title)} className="settings-group">
      <Section title={group.title}>
        {group.blocks.map((block) => (
          <section key={block.key} className="panel settings-block" aria-label={block.key || 'top of the file'}>
            {block.key && (
              <header>
                <h3 className="mono">{block.key}</h3>
                <p className="dim">
                  <WithCode text={block.about} />
                </p>
              </header>
            )}
            <ul>
              {block.entries.map((entry) => (
                <SettingRow key={entry.key} entry={entry} fixed={fixed} />
              ))}
            </ul>
          </section>
        ))}
      </Section>
    </div>
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
