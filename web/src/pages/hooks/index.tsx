import { Button } from '@mantine/core'
import { IconPlayerPlay, IconWebhook } from '@tabler/icons-react'
import { useState } from 'react'
import { useAsk } from '@/lib/ask'
import { Modal } from '@/parts/Dialog'
import { Chip, Filter, Notices, Quiet, Row, Rows, Section } from '@/parts/Listing'
import { Page } from '@/parts/Page'
import { ProjectChoice, useProject } from '@/parts/Project'
import { EmptyState, ErrorState, LoadingRows } from '@/parts/states'
import type { Hook } from '@/protocol/types'
import { ORIGINS } from '../customise/origins'
import { TryHooks } from './TryHooks'
import '../customise/customise.css'

export default function Hooks() {
  const cwd = useProject()
  const hooks = useAsk('hooks.list', { cwd })
  const [query, setQuery] = useState('')
  const [trying, setTrying] = useState('')
  const text = query.trim().toLowerCase()
  const all = hooks.data?.hooks ?? []
  const shown = all.filter(({ event, command, matcher }) =>
    `${event} ${command} ${matcher}`.toLowerCase().includes(text),
  )
  const events = [...new Set(shown.map(({ event }) => event))]
  return (
    <Page
      title="Hooks"
      actions={
        <>
          <ProjectChoice />
          <Filter label="Filter hooks" value={query} change={setQuery} />
        </>
      }
    >
      <p className="dim page-lead">
        Commands that run when something happens: before a tool is called, when a turn ends. One can refuse what an
        agent is about to do.
      </p>
      <Notices notices={hooks.data?.notices} />
      {hooks.isPending ? (
        <LoadingRows count={4} height={52} />
      ) : hooks.error ? (
        <ErrorState problem={hooks.error} retry={() => void hooks.refetch()} />
      ) : all.length === 0 ? (
        <EmptyState icon={<IconWebhook size={24} />} title="No hooks yet">
          Write hooks.json beside your config.toml, or .openagent/hooks.json in a project you trust: an event, and the
          command to run.
        </EmptyState>
      ) : shown.length === 0 ? (
        <Quiet>No hook matches. Clear the filter to see all {all.length}.</Quiet>
      ) : (
        events.map((event) => (
          <Section
            key={event}
            title={event}
            actions={
              <Button
                size="compact-sm"
                variant="default"
                leftSection={<IconPlayerPlay size={14} />}
                disabled={cwd === ''}
                onClick={() => setTrying(event)}
              >
                Try<span className="visually-hidden"> the hooks of {event}</span> …
              </Button>
            }
          >
            <Rows label={`Hooks of ${event}`}>
              {shown
                .filter((hook) => hook.event === event)
                .map((hook, at) => (
                  <HookRow key={at} hook={hook} />
                ))}
            </Rows>
          </Section>
        ))
      )}
      <Modal opened={trying !== ''} onClose={() => setTrying('')} title={`Try the hooks of ${trying}`} size="lg">
        {trying && <TryHooks event={trying} cwd={cwd} done={() => setTrying('')} />}
      </Modal>
    </Page>
  )
}

function HookRow({ hook }: { hook: Hook }) {
  return (
    <Row
      name={<code className="custom-command">{hook.command}</code>}
      chips={
        <>
          {hook.matcher && <Chip tone="accent">only {hook.matcher}</Chip>}
          {hook.only_if && <Chip tone="accent">only {hook.only_if}</Chip>}
          {hook.once && <Chip>once in a session</Chip>}
          <Chip>{ORIGINS[hook.origin ?? 'user']}</Chip>
        </>
      }
      about={<span className="mono">{hook.source}</span>}
      figures={<span className="dim">at most {hook.timeout ?? 60} s</span>}
    />
  )
}
