import { IconPuzzle } from '@tabler/icons-react'
import { useState } from 'react'
import { useAsk } from '@/lib/ask'
import { Chip, Filter, Quiet, Row, Rows, Section } from '@/parts/Listing'
import { Page } from '@/parts/Page'
import { EmptyState, ErrorState, LoadingRows } from '@/parts/states'
import type { Plugin } from '@/protocol/types'
import '../customise/customise.css'

export default function Plugins() {
  const plugins = useAsk('plugins.list', {})
  const [query, setQuery] = useState('')
  const text = query.trim().toLowerCase()
  const all = plugins.data?.plugins ?? []
  const shown = all.filter(({ kind, name, distribution, offers }) =>
    `${kind} ${name} ${distribution} ${(offers ?? []).join(' ')}`.toLowerCase().includes(text),
  )
  const kinds = [...new Set(shown.map(({ kind }) => kind))]
  return (
    <Page title="Plugins" actions={<Filter label="Filter plugins" value={query} change={setQuery} />}>
      <p className="dim page-lead">
        Packages that add tools, providers, collectors, jails or commands. Installed beside OpenAgent, they are found by
        themselves.
      </p>
      {plugins.isPending ? (
        <LoadingRows count={5} height={52} />
      ) : plugins.error ? (
        <ErrorState problem={plugins.error} retry={() => void plugins.refetch()} />
      ) : all.length === 0 ? (
        <EmptyState icon={<IconPuzzle size={24} />} title="No plugins yet">
          A package with an entry point for OpenAgent is found in the same environment;{' '}
          <code>openagent plugins install FOLDER</code> takes plugins of Claude Code and extensions of gemini-cli.
        </EmptyState>
      ) : shown.length === 0 ? (
        <Quiet>No plugin matches. Clear the filter to see all {all.length}.</Quiet>
      ) : (
        kinds.map((kind) => (
          <Section key={kind} title={kind}>
            <Rows label={`Plugins: ${kind}`}>
              {shown
                .filter((one) => one.kind === kind)
                .map((one) => (
                  <PluginRow key={one.name} plugin={one} />
                ))}
            </Rows>
          </Section>
        ))
      )}
    </Page>
  )
}

function PluginRow({ plugin }: { plugin: Plugin }) {
  const offers = plugin.offers ?? []
  return (
    <Row
      name={plugin.name}
      chips={plugin.error ? <Chip tone="bad">cannot be used</Chip> : <Chip tone="good">works</Chip>}
      about={
        plugin.error ? (
          <span className="custom-bad">{plugin.error}</span>
        ) : (
          offers.length > 0 && `Adds ${offers.join(', ')}`
        )
      }
      figures={
        <span className="dim">
          {[plugin.distribution, plugin.version].filter(Boolean).join(' ') || 'part of OpenAgent'}
        </span>
      }
    />
  )
}
