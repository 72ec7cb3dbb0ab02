import { TextInput } from '@mantine/core'
import { IconChevronRight, IconSearch } from '@tabler/icons-react'
import { useState } from 'react'
import { useAsk } from '@/lib/ask'
import { CodeBlock } from '@/parts/CodeBlock'
import { Chip, Quiet, Row, Rows, Section } from '@/parts/Listing'
import { ErrorState, LoadingRows } from '@/parts/states'
import type { CodeHit } from '@/protocol/types'
import { OpenIn } from './OpenIn'

/** Asks a folder's code for what fits some words. */
export function Search({ cwd }: { cwd: string }) {
  const [typed, setTyped] = useState('')
  const [query, setQuery] = useState('')
  const hits = useAsk('index.search', { cwd, query, limit: 12 }, { enabled: query !== '' })
  return (
    <Section title="Find code">
      <form
        onSubmit={(event) => {
          event.preventDefault()
          setQuery(typed.trim())
        }}
      >
        <TextInput
          aria-label="Search the code"
          placeholder="What it does, or what it is called; Enter searches"
          leftSection={<IconSearch size={14} />}
          value={typed}
          onChange={(event) => setTyped(event.currentTarget.value)}
          mb={8}
        />
      </form>
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
              <Hit key={`${hit.path}:${hit.start_line}`} hit={hit} cwd={cwd} />
            ))}
          </Rows>
        ))}
    </Section>
  )
}

function Hit({ hit, cwd }: { hit: CodeHit; cwd: string }) {
  const [open, setOpen] = useState(false)
  const name = hit.symbol || hit.path
  return (
    <Row
      name={
        <button type="button" className="code-hit mono" aria-expanded={open} onClick={() => setOpen(!open)}>
          <IconChevronRight size={14} className={open ? 'code-hit-open' : ''} aria-hidden />
          {name}
        </button>
      }
      chips={hit.kind && <Chip>{hit.kind}</Chip>}
      about={
        <span className="mono code-hit-place">
          <OpenIn cwd={cwd} path={hit.path} line={hit.start_line}>
            {hit.path}:{hit.start_line}–{hit.end_line}
          </OpenIn>
        </span>
      }
    >
      {open && <CodeBlock code={hit.text} language={hit.language ?? ''} />}
    </Row>
  )
}
