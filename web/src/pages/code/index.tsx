import { Button } from '@mantine/core'
import { IconRefresh, IconSitemap } from '@tabler/icons-react'
import { useAsk } from '@/lib/ask'
import { bytes } from '@/lib/format'
import { useRenew } from '@/lib/live'
import { Ago } from '@/parts/Ago'
import { Problem, useSubmit } from '@/parts/Form'
import { HowFar, useIndexed } from '@/parts/HowFar'
import { Page } from '@/parts/Page'
import { ProjectChoice, useProject } from '@/parts/Project'
import { EmptyState, ErrorState, LoadingRows } from '@/parts/states'
import type { IndexInfo } from '@/protocol/types'
import { daemon } from '@/state/daemon'
import { CodeMap } from './CodeMap'
import { Search } from './Search'
import './code.css'
import { ByMeaning } from './ByMeaning'

/** What is known of a folder's code: how it is, a map of it, and a way to ask it. */
export default function Code() {
  const cwd = useProject()
  return (
    <Page title="Code map" actions={<ProjectChoice />}>
      {cwd ? (
        <Known key={cwd} cwd={cwd} />
      ) : (
        <EmptyState icon={<IconSitemap size={24} />} title="No project yet">
          Name a folder above, or start a session in one: its code can be mapped and searched here.
        </EmptyState>
      )}
    </Page>
  )
}

function Known({ cwd }: { cwd: string }) {
  const index = useAsk('index.status', { cwd })
  if (index.isPending) return <LoadingRows count={3} height={80} />
  if (index.error) return <ErrorState problem={index.error} retry={() => void index.refetch()} />
  const built = Boolean(index.data.built_at)
  return (
    <>
      <State info={index.data} cwd={cwd} />
      {built && <Search cwd={cwd} />}
      {built && <CodeMap cwd={cwd} />}
    </>
  )
}

function State({ info, cwd }: { info: IndexInfo; cwd: string }) {
  const renew = useRenew('index.status', 'index.search', 'index.map', 'index.symbols')
  const progress = useIndexed()
  const { submit, busy, problem } = useSubmit(async () => {
    await daemon.request('index.build', { cwd })
    await renew()
  })
  const built = Boolean(info.built_at)
  return (
    <section className="panel code-state" aria-label="The index">
      <div className="code-state-line">
        {built ? (
          <Figures info={info} />
        ) : (
          <p className="code-none">
            <strong>This folder has no index yet.</strong> With one, agents and you find code by its names and by what
            it does, and see which parts the others build upon. It stays on this machine.
          </p>
        )}
        <Button
          size="xs"
          variant={built ? 'default' : 'filled'}
          leftSection={<IconRefresh size={14} />}
          loading={busy}
          onClick={() => submit()}
        >
          {built ? 'Bring up to date' : 'Build it'}
        </Button>
      </div>
      {busy && <HowFar stage={progress?.stage ?? 'reading the folder'} done={progress?.done} total={progress?.total} />}
      <Problem text={problem} />
      <ByMeaning info={info} rebuild={() => submit()} />
    </section>
  )
}

function Figures({ info }: { info: IndexInfo }) {
  const facts: [string, React.ReactNode][] = [
    ['Files', (info.files ?? 0).toLocaleString('en')],
    ['Names', (info.symbols ?? 0).toLocaleString('en')],
    ['Uses of names', (info.references ?? 0).toLocaleString('en')],
    ['Size', bytes(info.size_bytes ?? 0)],
    ['Built', <Ago key="built" at={info.built_at ?? 0} />],
  ]
  return (
    <dl className="code-figures">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd className="mono">{value}</dd>
        </div>
      ))}
    </dl>
  )
}
