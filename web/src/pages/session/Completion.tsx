import { useDebouncedValue } from '@mantine/hooks'
import { keepPreviousData } from '@tanstack/react-query'
import { useAsk } from '@/lib/ask'
import type { SessionInfo } from '@/protocol/types'
import './completion.css'

export interface Suggestion {
  /** What takes the place of the word. */
  text: string
  label: string
  hint: string
}

const MOST = 8

/** The word before the cursor that can be completed: `/command` at the beginning, `@file` anywhere. */
export function wordAt(text: string, cursor: number): { kind: 'command' | 'file'; start: number; word: string } | null {
  const before = text.slice(0, cursor)
  const command = /^\/([\w:-]*)$/.exec(before)
  if (command) return { kind: 'command', start: 0, word: command[1] ?? '' }
  const file = /(?:^|\s)@([^\s@]*)$/.exec(before)
  if (file) return { kind: 'file', start: before.length - (file[1]?.length ?? 0) - 1, word: file[1] ?? '' }
  return null
}

export function useSuggestions(info: SessionInfo, found: ReturnType<typeof wordAt>): Suggestion[] {
  const word = found?.word ?? ''
  const folder = word.includes('/') ? word.slice(0, word.lastIndexOf('/')) : '.'
  const [settled] = useDebouncedValue(folder, 80)
  const commands = useAsk('commands.list', { cwd: info.cwd }, { enabled: found?.kind === 'command', staleTime: 60_000 })
  const files = useAsk(
    'files.list',
    { session: info.id, path: settled },
    { enabled: found?.kind === 'file', placeholderData: keepPreviousData },
  )
  if (found?.kind === 'command')
    return (commands.data?.commands ?? [])
      .filter(({ name }) => name.startsWith(word))
      .slice(0, MOST)
      .map(({ name, arguments: given, description }) => ({
        text: `/${name} `,
        label: `/${name}${given ? ` ${given}` : ''}`,
        hint: description ?? '',
      }))
  if (found?.kind === 'file')
    return (files.data?.entries ?? [])
      .filter(({ path }) => path.startsWith(word))
      .slice(0, MOST)
      .map(({ path, kind }) => ({
        text: kind === 'directory' ? `@${path}/` : `@${path} `,
        label: kind === 'directory' ? `${path}/` : path,
        hint: '',
      }))
  return []
}

export function Suggestions(props: { all: Suggestion[]; chosen: number; choose: (one: Suggestion) => void }) {
  return (
    <div className="suggestions" id="suggestions" role="listbox" aria-label="Suggestions">
      {props.all.map((one, index) => (
        <button
          key={one.text}
          type="button"
          role="option"
          tabIndex={-1}
          aria-selected={index === props.chosen}
          className="suggestion"
          onMouseDown={(event) => {
            event.preventDefault()
            props.choose(one)
          }}
        >
          <span className="mono">{one.label}</span>
          <span className="dim cut">{one.hint}</span>
        </button>
      ))}
    </div>
  )
}
