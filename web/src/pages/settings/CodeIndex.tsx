import { Button, TextInput } from '@mantine/core'
import { IconSearch } from '@tabler/icons-react'
import { useState } from 'react'
import { act, useAsk } from '@/lib/ask'
import { bytes } from '@/lib/format'
import { useRenew } from '@/lib/live'
import { Ago } from '@/parts/Ago'
import { Chip, Quiet, Row, Rows, Section } from '@/parts/Listing'
import { ErrorState, LoadingRows } from '@/parts/states'

/** What is known of a workspace's code, and a way to ask it. */
export function CodeIndex({ cwd }: { cwd: string }) {
  const index = useAsk('index.status', { cwd })
  const renew = useRenew('index.status', 'index.search')
  const [busy, setBusy] = useState(false)
  const [typed, setTyped] = useState('')
  const [query, setQuery] = useState('')
  const hits = useAsk('index.search', { cwd, query, limit: 12 }, { enabled: query !== '' })
  const build = async () => {
    setBusy(true)
    await act('index.build', { cwd })
    await renew()
    setBusy(false)
  }
  const info = index.data
  return (
    <Section
      title="Code index"
      about={
        info?.built_at ? (
          <>
            {info.files} files · {info.symbols} names · {bytes(info.size_bytes ?? 0)} · built <Ago at={info.built_at} />
            {info.model ? ' · also by meaning' : ''}
          </>
        ) : (
          'Lets agents find code by what it does. This folder has none yet.'
        )
      }
      actions={
        <Button size="xs" variant="default" loading={busy} onClick={() => void build()}>
          {info?.built_at ? 'Bring up to date' : 'Build it'}
        </Button>
      }
    >
      {index.isPending ? (
        <LoadingRows count={1} height={36} />
      ) : index.error ? (
        <ErrorState problem={index.error} retry={() => void index.refetch()} />
      ) : (
        info?.built_at && (
          <form
            onSubmit={(event) => {
              event.preventDefault()
              setQuery(typed.trim())
            }}
          >
            <TextInput
              aria-label="Search the code"
              placeholder="Search the code of this folder"
              leftSection={<IconSearch size={14} />}
              value={typed}
              onChange={(event) => setTyped(event.currentTarget.value)}
              mb={8}
            />
          </form>
        )
      )}
      {query !== '' &&
        (hits.isPending ? (
          <LoadingRows count={4} height={52} />
        ) : hits.error ? (
          <ErrorState problem={hits.error} retry={() => void hits.refetch()} />
        ) : hits.data.hits.length === 0 ? (
          <Quiet>Nothing was found for “{query}”.</Quiet>
        ) : (
          <Rows label="Code that was found">
            {hits.data.hits.map((hit) => (
              <Row
                key={`${hit.path}:${hit.start_line}`}
                name={<span className="mono">{hit.symbol || hit.path}</span>}
                chips={hit.kind && <Chip>{hit.kind}</Chip>}
                about={
                  <span className="mono">
                    {hit.path}:{hit.start_line}–{hit.end_line}
                  </span>
                }
              />
            ))}
          </Rows>
        ))}
    </Section>
  )
}
