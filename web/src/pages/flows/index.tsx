import { Button } from '@mantine/core'
import { IconFileCheck, IconPlayerPlay, IconRoute } from '@tabler/icons-react'
import { Link } from '@tanstack/react-router'
import { useMemo, useState } from 'react'
import { useAsk } from '@/lib/ask'
import { isFlow } from '@/lib/flows'
import { folderName } from '@/lib/format'
import { Ago } from '@/parts/Ago'
import { Modal } from '@/parts/Dialog'
import { FlowDrawing } from '@/parts/flow/FlowDrawing'
import { Chip, Filter, Quiet, Row, Rows, Section } from '@/parts/Listing'
import { Page } from '@/parts/Page'
import { ProjectChoice, useProject } from '@/parts/Project'
import { StatusMark, statusWords } from '@/parts/StatusMark'
import { EmptyState, ErrorState, LoadingRows } from '@/parts/states'
import type { FlowInfo, SessionInfo } from '@/protocol/types'
import { useOverview } from '@/state/overview'
import { useCost } from '@/state/tree'
import { RunFlow } from './RunFlow'
import { WriteFlow } from './WriteFlow'
import './flows.css'

type Doing = { what: 'run'; flow: FlowInfo } | { what: 'write'; text: string } | null

export default function Flows() {
  const cwd = useProject()
  const flows = useAsk('flow.list', { cwd }, { enabled: cwd !== '' })
  const [query, setQuery] = useState('')
  const [doing, setDoing] = useState<Doing>(null)
  const text = query.trim().toLowerCase()
  const all = flows.data?.flows ?? []
  const shown = all.filter(({ name, description }) => `${name} ${description}`.toLowerCase().includes(text))
  const close = () => setDoing(null)
  const write = () => setDoing({ what: 'write', text: '' })
  return (
    <Page
      title="Flows"
      wide
      actions={
        <>
          <ProjectChoice />
          <Filter label="Filter flows" value={query} change={setQuery} />
          <Button size="xs" variant="default" leftSection={<IconFileCheck size={16} />} onClick={write}>
            Write or check one
          </Button>
        </>
      }
    >
      <Section title="In this project" about="Files in .openagent/flows: steps of templates, one after the other.">
        {cwd !== '' && flows.isPending ? (
          <LoadingRows count={2} height={160} />
        ) : flows.error ? (
          <ErrorState problem={flows.error} retry={() => void flows.refetch()} />
        ) : all.length === 0 ? (
          <EmptyState
            icon={<IconRoute size={24} />}
            title="No flows here"
            action={<Button onClick={write}>Try one</Button>}
          >
            A flow hands work from agent to agent: plan, build side by side, repair until the tests pass. It is a file
            .openagent/flows/NAME.toml in the project.
          </EmptyState>
        ) : shown.length === 0 ? (
          <Quiet>No flow matches. Clear the filter to see all {all.length}.</Quiet>
        ) : (
          <ul className="flows">
            {shown.map((flow) => (
              <FlowCard key={flow.file} flow={flow} choose={setDoing} />
            ))}
          </ul>
        )}
      </Section>
      <Runs query={text} />
      <Modal
        opened={doing?.what === 'run'}
        onClose={close}
        title={doing?.what === 'run' ? `Run ${doing.flow.name}` : ''}
        size="lg"
      >
        {doing?.what === 'run' && <RunFlow flow={doing.flow} cwd={cwd} done={close} />}
      </Modal>
      <Modal opened={doing?.what === 'write'} onClose={close} title="Write or check a flow" size="xl">
        {doing?.what === 'write' && (
          <WriteFlow text={doing.text} cwd={cwd} run={(flow) => setDoing({ what: 'run', flow })} leave={close} />
        )}
      </Modal>
    </Page>
  )
}

function FlowCard({ flow, choose }: { flow: FlowInfo; choose: (doing: Doing) => void }) {
  const problems = flow.problems ?? []
  return (
    <li className="flow-card panel">
      <header className="flow-card-head">
        <h3>{flow.name}</h3>
        {problems.length > 0 && <Chip tone="bad">cannot run</Chip>}
        <span className="flow-card-about dim">{flow.description}</span>
        <span className="flow-card-actions">
          <Button size="compact-sm" variant="subtle" onClick={() => choose({ what: 'write', text: flow.text ?? '' })}>
            Its text<span className="visually-hidden"> of {flow.name}</span>
          </Button>
          <Button
            size="compact-sm"
            leftSection={<IconPlayerPlay size={14} />}
            disabled={problems.length > 0}
            onClick={() => choose({ what: 'run', flow })}
          >
            Run<span className="visually-hidden"> {flow.name}</span>
          </Button>
        </span>
      </header>
      {problems.map((problem) => (
        <p key={problem} className="flow-problem">
          {problem}
        </p>
      ))}
      <FlowDrawing flow={flow} />
    </li>
  )
}

/** Sessions that flows run or ran in, the newest first. */
function Runs({ query }: { query: string }) {
  const cards = useOverview((state) => state.cards)
  const loaded = useOverview((state) => state.loaded)
  const runs = useMemo(
    () =>
      Object.values(cards)
        .map(({ info }) => info)
        .filter((info) => isFlow(info) && info.name.toLowerCase().includes(query))
        .sort((one, other) => other.created_at - one.created_at),
    [cards, query],
  )
  return (
    <Section title="Runs" about="At work, stopped or done. Open one to see each step, stop it, or go on.">
      {!loaded ? (
        <LoadingRows count={3} />
      ) : runs.length === 0 ? (
        <Quiet>{query ? 'No run matches.' : 'None so far: run a flow, and it is listed here.'}</Quiet>
      ) : (
        <Rows label="Runs of flows">
          {runs.map((info) => (
            <Run key={info.id} info={info} />
          ))}
        </Rows>
      )}
    </Section>
  )
}

function Run({ info }: { info: SessionInfo }) {
  return (
    <Row
      name={
        <>
          <StatusMark status={info.status} />
          <Link to="/sessions/$id" params={{ id: info.id }}>
            {info.name.replace(/^flow: /, '')}
          </Link>
        </>
      }
      chips={info.status && info.status !== 'idle' && <Chip tone="accent">{statusWords[info.status]}</Chip>}
      about={folderName(info.cwd)}
      figures={
        <>
          <span className="mono">{useCost(info.id)}</span>
          <Ago at={info.created_at} />
        </>
      }
    />
  )
}
