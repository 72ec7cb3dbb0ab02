import { TextInput } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { IconFileSearch } from '@tabler/icons-react'
import { keepPreviousData } from '@tanstack/react-query'
import { type KeyboardEvent, useEffect, useMemo, useRef, useState } from 'react'
import { useAsk } from '@/lib/ask'
import { fuzzy, type Match } from '@/lib/fuzzy'
import { Dialog } from '@/parts/Dialog'
import { MarkView } from '../files/MarkView'
import { useMarks } from '../files/marks'
import { closeQuickly, recentIn } from './quick-open-state'
import './quick-open.css'

const MOST = 40

/** Any file of the workspace by a few letters of its path; `name:12` goes to a line. */
export default function QuickOpen({ session, open }: { session: string; open: (path: string, line?: number) => void }) {
  const [query, setQuery] = useState('')
  const [chosen, setChosen] = useState(0)
  const { letters, line } = parsed(query)
  const { found, loading, problem } = useFiles(session, letters)
  const { marks } = useMarks(session)
  const list = useRef<HTMLDivElement>(null)
  useEffect(() => {
    list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: 'nearest' })
  })
  const take = (path: string | undefined) => {
    if (!path) return
    closeQuickly()
    open(path, line)
  }
  const press = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step) setChosen((chosen + step + found.length) % Math.max(1, found.length))
    else if (event.key === 'Enter') take(found[chosen]?.item)
    else return
    event.preventDefault()
  }
  return (
    <Dialog
      onClose={closeQuickly}
      withCloseButton={false}
      size="lg"
      padding={0}
      yOffset="12dvh"
      aria-label="Open a file by name"
    >
      <TextInput
        className="quick-input"
        variant="unstyled"
        size="md"
        leftSection={<IconFileSearch size={16} />}
        placeholder="Letters of a file’s path; name:12 goes to a line"
        aria-label="Letters of a file’s path"
        role="combobox"
        aria-expanded
        aria-controls="quick-files"
        aria-activedescendant={found[chosen] ? `quick-${chosen}` : undefined}
        value={query}
        onChange={(event) => {
          setQuery(event.currentTarget.value)
          setChosen(0)
        }}
        onKeyDown={press}
        data-autofocus
      />
      <div className="quick-list" id="quick-files" role="listbox" aria-label="Files" ref={list}>
        {found.map((match, index) => (
          <button
            key={match.item}
            id={`quick-${index}`}
            type="button"
            role="option"
            tabIndex={-1}
            aria-selected={index === chosen}
            className="quick-file"
            onClick={() => take(match.item)}
          >
            <Named match={match} />
            <MarkView mark={marks.get(match.item)} />
          </button>
        ))}
      </div>
      {found.length === 0 && (
        <p className="dim quick-none" role="status">
          {problem || (loading ? 'Looking …' : 'No file has these letters in this order.')}
        </p>
      )}
    </Dialog>
  )
}

/** The name first, then its folder: names are what people look for. */
function Named({ match }: { match: Match<string> }) {
  const start = match.item.lastIndexOf('/') + 1
  const places = new Set(match.places)
  const lit = (from: number, to: number) =>
    [...match.item.slice(from, to)].map((letter, index) =>
      places.has(from + index) ? <b key={from + index}>{letter}</b> : letter,
    )
  return (
    <>
      <span className="quick-name">{lit(start, match.item.length)}</span>
      <span className="dim quick-folder cut">{lit(0, Math.max(0, start - 1))}</span>
    </>
  )
}

function useFiles(session: string, letters: string): { found: Match<string>[]; loading: boolean; problem: string } {
  const all = useAsk('files.list', { session, below: true }, { staleTime: 10_000 })
  const [settled] = useDebouncedValue(letters.replace(/\s+/g, ''), 120)
  // A workspace with more files than are told at once is searched where it lies.
  const more = (all.data?.left_out ?? 0) > 0 && settled.length > 1
  const there = useAsk(
    'files.list',
    { session, query: settled },
    { enabled: more, placeholderData: keepPreviousData, staleTime: 10_000 },
  )
  const found = useMemo(() => {
    const listed = (more ? (there.data ?? all.data) : all.data)?.entries ?? []
    const paths = listed.map(({ path }) => path)
    if (letters.trim()) return fuzzy(paths, letters, (path) => path, MOST)
    const recent = recentIn(session).filter((path) => paths.includes(path))
    return fuzzy([...new Set([...recent, ...paths])], '', (path) => path, MOST)
  }, [all.data, there.data, more, letters, session])
  return { found, loading: all.isLoading, problem: all.error?.message ?? '' }
}

function parsed(query: string): { letters: string; line?: number } {
  const told = /^(.*?):(\d*)$/.exec(query.trim())
  return told ? { letters: told[1] ?? '', line: Number(told[2]) || undefined } : { letters: query }
}
