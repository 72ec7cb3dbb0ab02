import { Button } from '@mantine/core'
import { IconDownload, IconHistory, IconRefresh } from '@tabler/icons-react'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { useAsk } from '@/lib/ask'
import { bytes } from '@/lib/format'
import { useLive } from '@/lib/live'
import { Ago } from '@/parts/Ago'
import { Problem } from '@/parts/Form'
import { bring, broughtWords, sessionsWords, useBringing } from '@/parts/history/bringing'
import { Reading } from '@/parts/history/Reading'
import { COSTS, COSTS_PLACE } from '@/parts/history/ways'
import { Chip, Row, Rows, Section } from '@/parts/Listing'
import { Page } from '@/parts/Page'
import { EmptyState, ErrorState, LoadingRows } from '@/parts/states'
import type { AgentHistory, FoundHistory, ImportedHistory, LeftOut } from '@/protocol/types'
import { useKeys } from '@/shell/shortcuts'
import { Brought } from './Brought'
import './history.css'

/** What other agents left on the daemon’s machine, and the way to bring it here. */
export default function OtherAgents() {
  const found = useAsk('history.find', {}, { staleTime: 0 })
  const whose = useBringing((state) => state.whose)
  useLive(['history.imported'], 'history.find', 'session.list', 'usage.all')
  const fresh = found.data?.fresh ?? 0
  useKeys('Other agents', [
    { keys: 'i', what: 'Bring all that is new', run: () => void bring('all') },
    { keys: 'r', what: 'Look again', run: () => void found.refetch() },
  ])
  return (
    <Page
      title="Other agents"
      actions={
        <>
          <Button
            size="xs"
            variant="default"
            leftSection={<IconRefresh size={14} />}
            loading={found.isFetching}
            onClick={() => void found.refetch()}
          >
            Look again
          </Button>
          {fresh > 0 && (
            <Button
              size="xs"
              leftSection={<IconDownload size={14} />}
              loading={whose === 'all'}
              disabled={whose !== null}
              onClick={() => void bring('all')}
            >
              Bring all {fresh.toLocaleString('en-GB')}
            </Button>
          )}
        </>
      }
    >
      <p className="page-lead dim">
        Sessions of Claude Code, codex, gemini-cli, opencode, aider and goose on the daemon’s machine. Brought here,
        each is searched, opened and continued with any model. Nothing of theirs is changed, and no key is needed.{' '}
        <Link to={COSTS} hash={COSTS_PLACE}>
          What all of them cost
        </Link>{' '}
        is known without bringing them.
      </p>
      {found.isPending ? (
        <LoadingRows count={3} height={64} />
      ) : found.error ? (
        <ErrorState problem={found.error} retry={() => void found.refetch()} />
      ) : found.data.agents.length === 0 ? (
        <EmptyState icon={<IconHistory size={24} />} title="No other agent left a session here">
          Looked where each keeps them in the home folder of the user that the daemon runs as, or where its own
          environment variable says.
        </EmptyState>
      ) : (
        <Found found={found.data} />
      )}
      <Brought />
    </Page>
  )
}

function Found({ found }: { found: FoundHistory }) {
  const { whose, brought, problem } = useBringing()
  return (
    <>
      {whose === 'all' && (
        <div className="history-reading panel">
          <Reading />
        </div>
      )}
      <Problem text={problem} />
      {brought && <Outcome brought={brought} />}
      <Section title="Found on this machine">
        <Rows label="Found on this machine">
          {found.agents.map((agent) => (
            <Agent key={agent.agent} found={agent} />
          ))}
        </Rows>
      </Section>
      <LeftOutList all={found.left_out ?? []} />
    </>
  )
}

function Agent({ found }: { found: AgentHistory }) {
  const { agent, title, places, sessions = 0, fresh = 0, oldest = 0, newest = 0, brought_at: at = 0 } = found
  const whose = useBringing((state) => state.whose)
  const mine = whose === agent
  return (
    <Row
      name={title}
      chips={
        fresh > 0 ? (
          <Chip tone="accent">{fresh === sessions && !at ? 'not brought yet' : `${fresh} new`}</Chip>
        ) : (
          <Chip tone="good">all here</Chip>
        )
      }
      about={
        <>
          <span className="mono history-places">{places.join(', ')}</span>
          {at > 0 && (
            <>
              {' '}
              · last brought <Ago at={at} />
            </>
          )}
        </>
      }
      figures={
        <span className="history-figures">
          <span className="mono">{sessionsWords(sessions)}</span>
          <span className="dim">
            {span(oldest, newest)} · {bytes(found.bytes ?? 0)}
          </span>
        </span>
      }
      actions={
        fresh > 0 && (
          <Button
            size="compact-sm"
            variant="default"
            leftSection={<IconDownload size={14} />}
            loading={mine}
            disabled={whose !== null}
            onClick={() => void bring(agent)}
          >
            Bring<span className="visually-hidden"> the sessions of {title}</span>
          </Button>
        )
      }
    >
      {mine && (
        <div className="history-below">
          <Reading />
        </div>
      )}
    </Row>
  )
}

const dateOf = (at: number) =>
  new Date(at * 1000).toLocaleDateString('en-GB', { day: 'numeric', month: 'short', year: 'numeric' })

function span(oldest: number, newest: number): string {
  const [from, to] = [dateOf(oldest), dateOf(newest)]
  return from === to ? to : `${from} – ${to}`
}

/** What this import did, until the next one. */
function Outcome({ brought }: { brought: ImportedHistory }) {
  const { agents, messages = 0, seconds = 0 } = brought
  return (
    <div className="history-outcome panel" role="status">
      <p>
        {messages > 0
          ? `${messages.toLocaleString('en-GB')} messages in ${seconds.toFixed(1)} s.`
          : 'There was nothing new.'}
      </p>
      <ul>
        {agents.map((agent) => (
          <li key={agent.agent}>
            <strong>{agent.title}</strong> {broughtWords(agent)}
          </li>
        ))}
      </ul>
    </div>
  )
}

const SHOWN = 5

function LeftOutList({ all }: { all: LeftOut[] }) {
  const [whole, setWhole] = useState(false)
  if (all.length === 0) return null
  return (
    <Section title="Left out" about="What could not be read, or not to its end. The rest of it was brought.">
      <Rows label="Left out">
        {(whole ? all : all.slice(0, SHOWN)).map(({ path, reason }) => (
          <Row key={path + reason} name={<span className="mono history-places">{path}</span>} about={`It ${reason}.`} />
        ))}
      </Rows>
      {all.length > SHOWN && (
        <Button size="compact-sm" variant="subtle" color="gray" aria-expanded={whole} onClick={() => setWhole(!whole)}>
          {whole ? 'Show fewer' : `Show all ${all.length}`}
        </Button>
      )}
    </Section>
  )
}
