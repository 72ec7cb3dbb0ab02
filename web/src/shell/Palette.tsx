import { useMantineColorScheme } from '@mantine/core'
import '@mantine/spotlight/styles.css'
import { useDebouncedValue } from '@mantine/hooks'
import { Spotlight, type SpotlightActionGroupData, spotlight } from '@mantine/spotlight'
import {
  IconBell,
  IconFileImport,
  IconHistory,
  IconKeyboard,
  IconLogout,
  IconMoon,
  IconPlus,
  IconQuote,
  IconSearch,
} from '@tabler/icons-react'
import { keepPreviousData } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useEffect, useMemo } from 'react'
import { useAsk } from '@/lib/ask'
import { answering, folderName } from '@/lib/format'
import { plainWords } from '@/lib/plain'
import { signOut } from '@/lib/sign-out'
import { sessionCommands } from '@/pages/session/commands'
import { usePages } from '@/pages/shown'
import { bring } from '@/parts/history/bringing'
import { OTHER_AGENTS } from '@/parts/history/ways'
import { StatusMark, statusWords } from '@/parts/StatusMark'
import type { FoundMessage } from '@/protocol/types'
import { useOverview } from '@/state/overview'
import { usePeople } from '@/state/people'
import { canNotify, switchNotifying, useNotify } from './notifying'
import { useOpenSession } from './palette-state'
import { useShell } from './shell-state'
import { useShortcuts } from './shortcuts'

interface Props {
  query: string
  onQuery: (query: string) => void
  /** Its field has the focus. */
  onFocus: (field: HTMLInputElement) => void
  onClose: () => void
}

export default function Palette({ query, onQuery, onFocus, onClose }: Props) {
  const navigate = useNavigate()
  useEffect(() => spotlight.open(), [])
  const { toggleColorScheme } = useMantineColorScheme()
  const cards = useOverview((state) => state.cards)
  const pages = usePages()
  const person = usePeople((state) => state.person)
  const open = useOpenSession((state) => state.open)
  const notifying = useNotify((state) => state.on)
  const said = useSaid(query)
  const actions = useMemo<SpotlightActionGroupData[]>(() => {
    const sessions = Object.values(cards)
      .sort((one, other) => other.info.updated_at - one.info.updated_at)
      .slice(0, query.trim() ? undefined : RECENT)
      .map(({ info }) => ({
        id: `session-${info.id}`,
        label: info.name || 'Unnamed session',
        description: [statusWords[info.status ?? 'idle'], folderName(info.cwd), answering(info)]
          .filter(Boolean)
          .join(' · '),
        keywords: [info.id, info.cwd],
        leftSection: <StatusMark status={info.status} />,
        onClick: () => void navigate({ to: '/sessions/$id', params: { id: info.id } }),
      }))
    const commands = open
      ? sessionCommands(open.info, open.undo, (tab, id = open.info.id) => {
          void navigate({ to: '/sessions/$id', params: { id }, search: (tab ? { tab } : {}) as object })
        })
      : []
    return [
      { group: query.trim() ? 'Sessions' : 'Recent sessions', actions: sessions },
      ...(commands.length > 0 ? [{ group: 'This session', actions: commands }] : []),
      {
        group: 'Commands',
        actions: [
          {
            id: 'new-session',
            label: 'New session',
            leftSection: <IconPlus size={16} />,
            onClick: () => useShell.setState({ newSession: true }),
          },
          {
            id: 'import-session',
            label: 'Import a session …',
            leftSection: <IconFileImport size={16} />,
            onClick: () => useShell.setState({ importing: true }),
          },
          {
            id: 'bring',
            label: 'Bring sessions of other agents',
            description: 'Claude Code, codex, gemini-cli, opencode, aider, goose',
            keywords: ['import', 'history'],
            leftSection: <IconHistory size={16} />,
            onClick: () => {
              void navigate({ to: OTHER_AGENTS })
              void bring('all')
            },
          },
          {
            id: 'theme',
            label: 'Switch between dark and light',
            leftSection: <IconMoon size={16} />,
            onClick: toggleColorScheme,
          },
          ...(canNotify
            ? [
                {
                  id: 'notify',
                  label: notifying ? 'Stop notifications' : 'Notify me when a session needs me or is done',
                  leftSection: <IconBell size={16} />,
                  onClick: () => void switchNotifying(),
                },
              ]
            : []),
          ...(person
            ? [
                {
                  id: 'sign-out',
                  label: 'Sign out',
                  leftSection: <IconLogout size={16} />,
                  onClick: () => void signOut(),
                },
              ]
            : []),
          {
            id: 'keys',
            label: 'Show the keys',
            leftSection: <IconKeyboard size={16} />,
            onClick: () => useShortcuts.setState({ helpOpen: true }),
          },
        ],
      },
      {
        group: 'Pages',
        actions: pages.map(({ path, label, keywords, icon: Icon }) => ({
          id: `page-${path}`,
          label,
          keywords,
          leftSection: <Icon size={16} />,
          onClick: () => void navigate({ to: path }),
        })),
      },
      {
        group: 'Said in sessions',
        actions: said.map(({ session, session_name: name, number, excerpt }) => ({
          id: `said-${session}-${number}`,
          label: excerptOf(excerpt),
          description: name || 'Unnamed session',
          // Found by the daemon, by whatever words: the palette's own filter lets it through.
          keywords: [query],
          leftSection: <IconQuote size={16} />,
          onClick: () => void navigate({ to: '/sessions/$id', params: { id: session }, search: { at: number } }),
        })),
      },
    ]
  }, [cards, open, navigate, toggleColorScheme, notifying, said, query, pages, person])
  return (
    <Spotlight
      actions={actions}
      shortcut={null}
      query={query}
      onQueryChange={onQuery}
      onSpotlightClose={onClose}
      limit={60}
      nothingFound="Nothing is called that."
      highlightQuery
      scrollable
      overlayProps={{ backgroundOpacity: 0.5, blur: 0 }}
      maxHeight={420}
      transitionProps={{ duration: 100 }}
      searchProps={{
        leftSection: <IconSearch size={16} />,
        placeholder: 'Search sessions, pages and commands …',
        onFocus: (event) => onFocus(event.currentTarget),
      }}
    />
  )
}

/** Without a word to search for, only the newest. */
const RECENT = 6
const NONE: FoundMessage[] = []

/** Messages of all sessions with these words. */
function useSaid(query: string): FoundMessage[] {
  const [settled] = useDebouncedValue(query.trim(), 150)
  const found = useAsk(
    'messages.search',
    { query: settled, limit: 8 },
    { enabled: settled.length > 2, placeholderData: keepPreviousData },
  )
  return settled.length > 2 ? (found.data?.found ?? NONE) : NONE
}

/** The daemon marks the words it found with two control characters; what is left is read as words, too. */
function excerptOf(excerpt: string): string {
  return plainWords(excerpt.replaceAll('\u0002', '').replaceAll('\u0003', '')).replace(/\s+/g, ' ')
}
