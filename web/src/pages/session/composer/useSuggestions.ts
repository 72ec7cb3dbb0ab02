import { useDebouncedValue } from '@mantine/hooks'
import { keepPreviousData } from '@tanstack/react-query'
import { useMemo } from 'react'
import { useAsk } from '@/lib/ask'
import { folderName } from '@/lib/format'
import { fuzzy } from '@/lib/fuzzy'
import { useRenewAfter } from '@/lib/live'
import { commandName } from '@/parts/mcp/prompt-command'
import type { CodeSymbol, FileEntry, McpPrompt, McpResource, SessionInfo, Skill, SlashCommand } from '@/protocol/types'
import { useOverview } from '@/state/overview'
import { OFFERED } from './commands'
import type { Word } from './words'

export interface Suggestion {
  key: string
  group: string
  /** What takes the place of the word. */
  text: string
  label: string
  hint: string
  /** Filled in before it takes the place of the word. */
  prompt?: McpPrompt
  /** Can be looked into. */
  resource?: McpResource
}

const NOTHING: never[] = []
/** An index or a server that is slow, or not there, holds nothing up and says nothing. */
const QUIETLY = { staleTime: 60_000, placeholderData: keepPreviousData } as const

export function useSuggestions(info: SessionInfo, found: Word | null): Suggestion[] {
  // A server that takes its time to start has nothing to offer until it is up.
  useRenewAfter(['mcp.status'], 'mcp.prompts', 'mcp.resources')
  const commands = useCommands(info, found?.kind === 'command' ? found.word : null)
  const mentions = useMentions(info, found?.kind === 'mention' ? found.word : null)
  return found?.kind === 'command' ? commands : found ? mentions : NOTHING
}

function useCommands(info: SessionInfo, word: string | null): Suggestion[] {
  const enabled = word !== null
  const listed = useAsk('commands.list', { cwd: info.cwd }, { enabled, ...QUIETLY })
  const skills = useAsk('skills.list', { cwd: info.cwd }, { enabled, ...QUIETLY })
  const prompts = useAsk('mcp.prompts', { cwd: info.cwd }, { enabled, ...QUIETLY })
  return useMemo(
    () =>
      word === null ? NOTHING : commandsFor(word, listed.data?.commands, skills.data?.skills, prompts.data?.prompts),
    [word, listed.data, skills.data, prompts.data],
  )
}

export function commandsFor(
  word: string,
  own: SlashCommand[] = [],
  skills: Skill[] = [],
  prompts: McpPrompt[] = [],
): Suggestion[] {
  const most = word ? 8 : 60
  const builtIn = fuzzy(OFFERED, word, ({ name }) => name, most).map(({ item }) => item)
  const alsoCalled = OFFERED.filter(
    (one) => !builtIn.includes(one) && word && one.words.some((other) => other.startsWith(word)),
  )
  // Prompts are among the commands, too; but only they themselves say what is to be filled in.
  const files = own.filter(({ origin }) => origin !== 'mcp')
  const unshadowed = prompts.filter((one) => !files.some(({ name }) => `/${name}` === commandName(one)))
  return [
    ...[...builtIn, ...alsoCalled].map(
      ({ name, help, takes }): Suggestion => ({
        key: `built-in:${name}`,
        group: 'Commands',
        text: takes ? `/${name} ` : `/${name}`,
        label: `/${name}${takes ? ` ${takes}` : ''}`,
        hint: help,
      }),
    ),
    ...fuzzy(files, word, ({ name }) => name, most).map(
      ({ item: { name, arguments: given, description } }): Suggestion => ({
        key: `own:${name}`,
        group: 'Your commands',
        text: `/${name} `,
        label: `/${name}${given ? ` ${given}` : ''}`,
        hint: description ?? '',
      }),
    ),
    ...fuzzy(unshadowed, word, (one) => commandName(one).slice(1), most).map(
      ({ item }): Suggestion => ({
        key: `prompt:${commandName(item)}`,
        group: 'Prompts of MCP servers',
        text: `${commandName(item)} `,
        label: [
          commandName(item),
          ...(item.arguments ?? []).map(({ name, required }) => (required ? name : `[${name}]`)),
        ].join(' '),
        hint: item.description ?? '',
        ...(item.arguments?.length ? { prompt: item } : {}),
      }),
    ),
    ...fuzzy(skills, word, ({ name }) => name, most).map(
      ({ item: { name, description } }): Suggestion => ({
        key: `skill:${name}`,
        group: 'Skills',
        text: `Use the skill ${name}: `,
        label: name,
        hint: description ?? '',
      }),
    ),
  ]
}

function useMentions(info: SessionInfo, word: string | null): Suggestion[] {
  const enabled = word !== null
  const [settled] = useDebouncedValue(word ?? '', 120)
  const files = useAsk('files.list', { session: info.id, path: '.', below: true }, { enabled, ...QUIETLY })
  const symbols = useAsk(
    'index.symbols',
    { cwd: info.cwd, name: settled, like: true },
    { enabled: enabled && settled.length > 1, ...QUIETLY },
  )
  const resources = useAsk('mcp.resources', { cwd: info.cwd }, { enabled, ...QUIETLY })
  const cards = useOverview((state) => state.cards)
  return useMemo(() => {
    if (word === null) return NOTHING
    const sessions = Object.values(cards)
      .map((card) => card.info)
      .filter(({ id, parent }) => id !== info.id && !parent)
      .sort((one, other) => other.updated_at - one.updated_at)
    const defined = word.length > 1 ? symbols.data?.definitions : undefined
    return mentionsFor(word, {
      files: files.data?.entries,
      symbols: defined,
      sessions,
      resources: resources.data?.resources,
    })
  }, [word, files.data, symbols.data, resources.data, cards, info.id])
}

interface Known {
  files?: FileEntry[]
  symbols?: CodeSymbol[]
  sessions?: SessionInfo[]
  resources?: McpResource[]
}

export function mentionsFor(word: string, known: Known): Suggestion[] {
  const best = <T>(items: T[] | undefined, textOf: (item: T) => string, most: number) =>
    fuzzy(items ?? [], word, textOf, most).map(({ item }) => item)
  return [
    ...best(known.files, ({ path }) => path, 8).map(({ path }) => ({
      key: `file:${path}`,
      group: 'Files',
      text: `@${path} `,
      label: path,
      hint: '',
    })),
    ...best(known.symbols, ({ symbol }) => symbol, 5).map(({ symbol, kind, path, start_line: line }) => ({
      key: `symbol:${path}:${line}:${symbol}`,
      group: 'Symbols',
      text: `${symbol} (@${path}:${line}) `,
      label: symbol,
      hint: `${kind} · ${path}:${line}`,
    })),
    ...best(known.sessions, ({ name }) => name, word ? 4 : 3).map(({ id, name, cwd }) => ({
      key: `session:${id}`,
      group: 'Sessions',
      text: `@session:${id} (${name || 'unnamed'}) `,
      label: name || 'Unnamed session',
      hint: folderName(cwd),
    })),
    ...best(known.resources, ({ server, name, uri }) => `${server} ${name} ${uri}`, 5).map((resource) => ({
      resource,
      key: `resource:${resource.server}:${resource.uri}`,
      group: 'MCP resources',
      text: `@${resource.server}:${resource.uri} `,
      label: resource.name || resource.uri,
      hint: [resource.server, resource.description || resource.uri].join(' · '),
    })),
  ]
}
