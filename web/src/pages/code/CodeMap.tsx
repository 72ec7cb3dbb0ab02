import { Button } from '@mantine/core'
import { keepPreviousData } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import { useAsk } from '@/lib/ask'
import { CopyButton } from '@/parts/CodeBlock'
import { Chip, Filter, Quiet, Section } from '@/parts/Listing'
import { ErrorState, LoadingRows } from '@/parts/states'
import type { MappedFile } from '@/protocol/types'
import { narrowed } from './narrowed'
import { OpenIn } from './OpenIn'

/** Without what only begins a block. */
const declared = (signature: string) => signature.replace(/[ {:]+$/, '')

/** How long the map may be, in tokens: what agents are shown at first, and more of it. */
const LENGTHS = [1000, 4000, 16_000, 64_000]

/** What a folder's code is made of: by file, what others use most. */
export function CodeMap({ cwd }: { cwd: string }) {
  const [length, setLength] = useState(0)
  const [query, setQuery] = useState('')
  const map = useAsk('index.map', { cwd, max_tokens: LENGTHS[length] }, { placeholderData: keepPreviousData })
  const files = useMemo(() => narrowed(map.data?.files ?? [], query), [map.data, query])
  // A token is at least three characters of it; what is much shorter is all there is.
  const isFull = (map.data?.text.length ?? 0) > 2 * (LENGTHS[length] ?? 0)
  const longer = isFull && LENGTHS[length + 1]
  const names = map.data?.files?.reduce((sum, { symbols }) => sum + symbols.length, 0) ?? 0
  return (
    <Section
      title="The map"
      about="What the rest of the code uses most, by file. Agents are given the same, as far as it fits."
      actions={
        map.data?.text ? (
          <>
            <Filter label="Filter the map" value={query} change={setQuery} width={220} />
            <CopyButton text={map.data.text} />
          </>
        ) : null
      }
    >
      {map.isPending ? (
        <LoadingRows count={4} height={64} />
      ) : map.error ? (
        <ErrorState problem={map.error} retry={() => void map.refetch()} />
      ) : names === 0 ? (
        <Quiet>Nothing in this folder defines a name that others could use.</Quiet>
      ) : files.length === 0 ? (
        <Quiet>Nothing on the map matches. Clear the filter to see all {names} names.</Quiet>
      ) : (
        <ul className="panel code-map" aria-label="The map">
          {files.map((file) => (
            <File key={file.path} file={file} cwd={cwd} />
          ))}
        </ul>
      )}
      {names > 0 && longer && (
        <Button
          size="xs"
          variant="subtle"
          color="gray"
          mt={8}
          loading={map.isFetching}
          onClick={() => setLength(length + 1)}
        >
          Show more of it
        </Button>
      )}
    </Section>
  )
}

function File({ file, cwd }: { file: MappedFile; cwd: string }) {
  return (
    <li>
      <h3 className="mono">
        <OpenIn cwd={cwd} path={file.path}>
          {file.path}
        </OpenIn>
      </h3>
      <ul>
        {file.symbols.map((one) => (
          <li key={`${one.symbol}:${one.start_line}`}>
            <span className="mono cut code-signature" title={one.signature || one.symbol}>
              <OpenIn cwd={cwd} path={file.path} line={one.start_line}>
                {declared(one.signature || one.symbol)}
              </OpenIn>
            </span>
            <Chip>{one.kind}</Chip>
            <span className="mono dim code-used">
              {one.used_in ? `${one.used_in} file${one.used_in === 1 ? '' : 's'}` : ''}
            </span>
          </li>
        ))}
      </ul>
    </li>
  )
}
