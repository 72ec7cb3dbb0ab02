import { Button, PasswordInput, TextInput } from '@mantine/core'
import { useState } from 'react'
import { useAsk } from '@/lib/ask'
import { CopyButton } from '@/parts/CodeBlock'
import { Form } from '@/parts/Form'
import { Chip, Filter, Row, Rows } from '@/parts/Listing'
import { safeAddress } from '@/parts/safe-address'
import { ErrorState, LoadingRows } from '@/parts/states'
import { WithCode } from '@/parts/WithCode'
import type { McpCatalogueEntry, McpServerEntry } from '@/protocol/types'
import { Failed, useTriedServer } from './trying'
import { filled, mentions } from './words'

/** Servers that are known, and the settings they need. */
export function Catalogue({ taken, cwd, done }: { taken: string[]; cwd: string; done: () => void }) {
  const catalogue = useAsk('mcp.catalog', {}, { staleTime: 300_000 })
  const [chosen, setChosen] = useState<McpCatalogueEntry | null>(null)
  const [query, setQuery] = useState('')
  if (catalogue.isPending) return <LoadingRows count={6} height={48} />
  if (catalogue.error) return <ErrorState problem={catalogue.error} retry={() => void catalogue.refetch()} />
  if (chosen) return <Chosen entry={chosen} cwd={cwd} back={() => setChosen(null)} done={done} />
  const text = query.trim().toLowerCase()
  const entries = catalogue.data.entries.filter((one) => `${one.name} ${one.about}`.toLowerCase().includes(text))
  return (
    <div className="form">
      <Filter label="Filter known servers" value={query} change={setQuery} />
      <Rows label="Known servers">
        {entries.map((entry) => (
          <Row
            key={entry.name}
            name={entry.name}
            chips={<Chip>{entry.server.url ? 'address' : 'command'}</Chip>}
            about={<WithCode text={entry.about} />}
            actions={
              taken.includes(entry.name) ? (
                <Chip tone="good">added</Chip>
              ) : (
                <Button size="compact-sm" variant="default" onClick={() => setChosen(entry)}>
                  Choose<span className="visually-hidden"> {entry.name}</span>
                </Button>
              )
            }
          />
        ))}
      </Rows>
    </div>
  )
}

function Chosen(props: { entry: McpCatalogueEntry; cwd: string; back: () => void; done: () => void }) {
  const { entry, back } = props
  const { keep, failed, busy } = useTriedServer(props.cwd, props.done)
  const [values, setValues] = useState<Record<string, string>>({})
  const needs = entry.needs ?? []
  const missing = needs.some((one) => one.required !== false && !one.is_set && !values[one.name]?.trim())
  const page = entry.page ? safeAddress(entry.page) : null
  const work = (untried = false) => keep(entry.name, withSettings(entry, values), { untried })
  return (
    <Form work={() => work()} action="Try and save" ready={!missing} leave={back} back>
      <p className="confirm-text">
        <strong>{entry.name}</strong>: <WithCode text={entry.about} />{' '}
        {page && (
          <a href={page} target="_blank" rel="noopener noreferrer">
            More about it
          </a>
        )}
      </p>
      <TextInput
        label={entry.server.url ? 'Address' : 'Command'}
        readOnly
        value={entry.server.url || [entry.server.command, ...(entry.server.args ?? [])].join(' ')}
        classNames={{ input: 'mono' }}
      />
      {entry.install && (
        <TextInput
          label="To get the command"
          description="Run this on the daemon’s machine, if it is not there yet."
          readOnly
          value={entry.install}
          classNames={{ input: 'mono' }}
          rightSection={<CopyButton text={entry.install} />}
        />
      )}
      {needs.map((need) => (
        <PasswordInput
          key={need.name}
          label={need.name}
          description={`${need.about}${need.is_set ? ' Set in the daemon’s environment already.' : ''}`}
          required={need.required !== false && !need.is_set}
          autoComplete="off"
          value={values[need.name] ?? ''}
          onChange={(event) => {
            const { value } = event.currentTarget
            setValues((known) => ({ ...known, [need.name]: value }))
          }}
          classNames={{ innerInput: 'mono' }}
          visibilityToggleButtonProps={{ 'aria-label': `Show or hide ${need.name}` }}
        />
      ))}
      <Failed server={failed} busy={busy} keep={() => void work(true)} />
    </Form>
  )
}

/** The entry with what was typed in the place of its variables; a setting that nothing mentions goes to the environment. */
function withSettings({ server, needs }: McpCatalogueEntry, values: Record<string, string>): McpServerEntry {
  const each = (texts: Record<string, string> | undefined) =>
    Object.fromEntries(Object.entries(texts ?? {}).map(([name, text]) => [name, filled(text, values)]))
  const whole = JSON.stringify(server)
  const unmentioned = (needs ?? []).filter(({ name }) => values[name]?.trim() && !mentions(whole, name))
  return {
    ...server,
    ...(server.url ? { url: filled(server.url, values) } : {}),
    args: (server.args ?? []).map((word) => filled(word, values)),
    headers: each(server.headers),
    env: { ...each(server.env), ...Object.fromEntries(unmentioned.map(({ name }) => [name, values[name]!])) },
  }
}
