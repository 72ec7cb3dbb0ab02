import { Button, Menu, Select } from '@mantine/core'
import { IconChevronRight, IconDownload, IconShieldSearch } from '@tabler/icons-react'
import { useInfiniteQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Fragment, useMemo, useState } from 'react'
import { tellProblem } from '@/lib/ask'
import { csvLine, download } from '@/lib/download'
import { exactTime, firstLine } from '@/lib/format'
import { Ago } from '@/parts/Ago'
import { CodeBlock } from '@/parts/CodeBlock'
import { Chip, Filter, Quiet, type Tone } from '@/parts/Listing'
import { Page } from '@/parts/Page'
import { EmptyState, ErrorState, LoadingRows } from '@/parts/states'
import type { AuditRow } from '@/protocol/types'
import { daemon } from '@/state/daemon'
import { useOverview } from '@/state/overview'
import './audit.css'

const PAGE = 100
const EXPORT_PAGE = 1000
const EXPORT_MOST = 100_000
const KINDS = [
  'decision',
  'command',
  'file_written',
  'grant',
  'session',
  'auth',
  'tokens',
  'tools',
  'mcp',
  'workspaces',
]
const DAY = 86_400
const PERIODS = [
  { value: '0', label: 'all time' },
  { value: String(DAY), label: 'last 24 hours' },
  { value: String(7 * DAY), label: 'last 7 days' },
  { value: String(30 * DAY), label: 'last 30 days' },
]

interface Wanted {
  kind: string
  tool: string
  session: string
  since: number
}

export default function Audit() {
  const [kind, setKind] = useState('')
  const [tool, setTool] = useState('')
  const [session, setSession] = useState('')
  const [period, setPeriod] = useState('0')
  const [query, setQuery] = useState('')
  // To the minute, so that the same question keeps its answer.
  const since = period === '0' ? 0 : Math.floor(Date.now() / 60_000) * 60 - Number(period)
  const wanted: Wanted = { kind, tool: tool.trim(), session, since }
  const pages = useInfiniteQuery({
    queryKey: ['audit.list', { kind, tool, session, period }],
    queryFn: ({ pageParam }) => daemon.request('audit.list', { ...wanted, limit: PAGE, before: pageParam }),
    initialPageParam: null as number | null,
    getNextPageParam: (last) => last.next ?? null,
  })
  const cards = useOverview((state) => state.cards)
  const sessions = useMemo(
    () => Object.values(cards).map(({ info }) => ({ value: info.id, label: info.name || info.id.slice(0, 8) })),
    [cards],
  )
  const all = pages.data?.pages.flatMap((page) => page.entries) ?? []
  const text = query.trim().toLowerCase()
  const shown = text
    ? all.filter((row) => `${row.subject} ${JSON.stringify(row.detail)}`.toLowerCase().includes(text))
    : all
  const filtered = Boolean(kind || tool || session || text || period !== '0')
  const clear = () => {
    setKind('')
    setTool('')
    setSession('')
    setPeriod('0')
    setQuery('')
  }
  return (
    <Page title="Audit" wide actions={<Export wanted={wanted} />}>
      <search className="audit-filters">
        <Filter label="Search what is shown" value={query} change={setQuery} width={200} />
        <Select
          size="xs"
          w={150}
          aria-label="Kind"
          placeholder="every kind"
          clearable
          data={[...new Set([...KINDS, ...all.map((row) => row.kind)])]}
          value={kind || null}
          onChange={(value) => setKind(value ?? '')}
        />
        <Filter label="Tool" value={tool} change={setTool} width={140} />
        <Select
          size="xs"
          w={200}
          aria-label="Session"
          placeholder="every session"
          clearable
          searchable
          data={sessions}
          value={session || null}
          onChange={(value) => setSession(value ?? '')}
        />
        <Select
          size="xs"
          w={140}
          aria-label="Since when"
          allowDeselect={false}
          data={PERIODS}
          value={period}
          onChange={(value) => setPeriod(value ?? '0')}
        />
        {filtered && (
          <Button size="xs" variant="subtle" color="gray" onClick={clear}>
            Clear
          </Button>
        )}
      </search>
      {pages.isPending ? (
        <LoadingRows count={10} height={32} />
      ) : pages.error && !pages.data ? (
        <ErrorState problem={pages.error} retry={() => void pages.refetch()} />
      ) : all.length === 0 && !filtered ? (
        <EmptyState icon={<IconShieldSearch size={24} />} title="Nothing was done yet">
          Every decision, command, write and change is kept here with who made it, and nobody can change it afterwards.
        </EmptyState>
      ) : shown.length === 0 ? (
        <Quiet
          action={
            <Button size="xs" variant="default" onClick={clear}>
              Clear the filter
            </Button>
          }
        >
          Nothing matches.
        </Quiet>
      ) : (
        <>
          <AuditTable rows={shown} names={cards} />
          <div className="audit-more">
            <span className="dim">
              <span className="mono">{shown.length}</span> {shown.length === 1 ? 'entry' : 'entries'}
              {pages.hasNextPage ? ', more below' : ', that is all'}
            </span>
            {pages.hasNextPage && (
              <Button
                size="xs"
                variant="default"
                loading={pages.isFetchingNextPage}
                onClick={() => void pages.fetchNextPage()}
              >
                Older
              </Button>
            )}
          </div>
        </>
      )}
    </Page>
  )
}

function AuditTable({ rows, names }: { rows: AuditRow[]; names: Record<string, { info: { name: string } }> }) {
  const [open, setOpen] = useState<number | null>(null)
  return (
    <div className="panel audit-panel">
      <table className="audit">
        <thead>
          <tr>
            <th scope="col">When</th>
            <th scope="col">Who</th>
            <th scope="col">Kind</th>
            <th scope="col">What</th>
            <th scope="col">Outcome</th>
            <th scope="col">Session</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <Fragment key={row.id}>
              <tr>
                <td className="dim">
                  <Ago at={row.at} />
                </td>
                <td className="cut">
                  <Who detail={row.detail ?? {}} />
                </td>
                <td className="dim">{row.kind}</td>
                <td>
                  <button
                    type="button"
                    className="audit-subject"
                    aria-expanded={open === row.id}
                    onClick={() => setOpen(open === row.id ? null : row.id)}
                  >
                    <IconChevronRight size={14} className={open === row.id ? 'audit-open' : ''} aria-hidden />
                    <span className="mono cut">{firstLine(row.subject) || row.kind}</span>
                  </button>
                </td>
                <td>
                  <Outcome detail={row.detail ?? {}} />
                </td>
                <td className="cut">
                  {names[row.session] ? (
                    <Link to="/sessions/$id" params={{ id: row.session }}>
                      {names[row.session]?.info.name || row.session.slice(0, 8)}
                    </Link>
                  ) : (
                    <span className="mono dim">{row.session.slice(0, 8)}</span>
                  )}
                </td>
              </tr>
              {open === row.id && (
                <tr className="audit-detail">
                  <td colSpan={6}>
                    <p className="dim">
                      <span className="mono">{exactTime(row.at)}</span> · entry <span className="mono">{row.id}</span>
                    </p>
                    <CodeBlock
                      code={JSON.stringify({ subject: row.subject, ...row.detail }, null, 2)}
                      language="json"
                    />
                  </td>
                </tr>
              )}
            </Fragment>
          ))}
        </tbody>
      </table>
    </div>
  )
}

const TONES: Record<string, Tone> = { allow: 'good', deny: 'bad', ask: 'warn', error: 'bad', blocked: 'bad' }

function Outcome({ detail }: { detail: Record<string, unknown> }) {
  if (detail.ended === 'interrupted') return <Chip tone="bad">cut off</Chip>
  if (detail.ended === 'stopped') return <Chip tone="warn">stopped</Chip>
  const decision = detail.decision ?? detail.outcome ?? detail.what
  if (typeof decision === 'string') return <Chip tone={TONES[decision] ?? 'plain'}>{decision}</Chip>
  if (typeof detail.exit_code === 'number')
    return <Chip tone={detail.exit_code === 0 ? 'good' : 'bad'}>exit {detail.exit_code}</Chip>
  return <span className="dim">–</span>
}

/** The client, and the token where it was not the owner. Rows of older versions may not know. */
function Who({ detail }: { detail: Record<string, unknown> }) {
  const by = typeof detail.by === 'string' ? detail.by : ''
  const actor = typeof detail.actor === 'string' ? detail.actor : ''
  const from = typeof detail.from === 'string' ? detail.from : ''
  if (!by) return <span className="dim">–</span>
  return <span title={from}>{actor && actor !== 'owner' && actor !== by ? `${by} (${actor})` : by}</span>
}

function Export({ wanted }: { wanted: Wanted }) {
  const [busy, setBusy] = useState(false)
  const take = async (as: 'csv' | 'json') => {
    setBusy(true)
    try {
      const rows = await everything(wanted)
      const name = `audit-${new Date().toISOString().slice(0, 10)}.${as}`
      if (as === 'json') download(name, rows.map((row) => `${JSON.stringify(row)}\n`).join(''), 'application/json')
      else download(name, asCsv(rows), 'text/csv')
    } catch (problem) {
      tellProblem(problem)
    }
    setBusy(false)
  }
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <Button size="xs" variant="default" leftSection={<IconDownload size={16} />} loading={busy}>
          Export
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item onClick={() => void take('csv')}>As a table (CSV)</Menu.Item>
        <Menu.Item onClick={() => void take('json')}>With all details (JSON lines)</Menu.Item>
      </Menu.Dropdown>
    </Menu>
  )
}

/** Every entry of the filter, page by page. */
async function everything(wanted: Wanted): Promise<AuditRow[]> {
  const rows: AuditRow[] = []
  let before: number | null = null
  do {
    const page: { entries: AuditRow[]; next?: number | null } = await daemon.request('audit.list', {
      ...wanted,
      limit: EXPORT_PAGE,
      before,
    })
    rows.push(...page.entries)
    before = page.next ?? null
  } while (before !== null && rows.length < EXPORT_MOST)
  return rows
}

export function asCsv(rows: AuditRow[]): string {
  const lines = rows.map((row) =>
    csvLine([
      row.id,
      new Date(row.at * 1000).toISOString(),
      row.session,
      row.kind,
      row.subject,
      JSON.stringify(row.detail ?? {}),
    ]),
  )
  return `${['id,time,session,kind,subject,detail', ...lines].join('\n')}\n`
}
