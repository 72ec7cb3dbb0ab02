import { useMantineColorScheme } from '@mantine/core'
import '@mantine/spotlight/styles.css'
import { Spotlight, type SpotlightActionGroupData, spotlight } from '@mantine/spotlight'
import { IconKeyboard, IconMessage, IconMoon, IconPlus, IconSearch } from '@tabler/icons-react'
import { useNavigate } from '@tanstack/react-router'
import { useEffect, useMemo } from 'react'
import { folderName, modelName } from '@/lib/format'
import { pages } from '@/pages/pages'
import { useOverview } from '@/state/overview'
import { usePageCommands } from './palette-state'
import { useShell } from './shell-state'
import { useShortcuts } from './shortcuts'

export default function Palette() {
  const navigate = useNavigate()
  useEffect(() => spotlight.open(), [])
  const { toggleColorScheme } = useMantineColorScheme()
  const cards = useOverview((state) => state.cards)
  const commands = usePageCommands((state) => state.commands)
  const actions = useMemo<SpotlightActionGroupData[]>(() => {
    const sessions = Object.values(cards)
      .sort((one, other) => other.info.updated_at - one.info.updated_at)
      .map(({ info }) => ({
        id: `session-${info.id}`,
        label: info.name || 'Unnamed session',
        description: [folderName(info.cwd), modelName(info.settings?.model ?? '')].filter(Boolean).join(' · '),
        keywords: [info.id, info.cwd],
        leftSection: <IconMessage size={16} />,
        onClick: () => void navigate({ to: '/sessions/$id', params: { id: info.id } }),
      }))
    return [
      ...(commands.length > 0 ? [{ group: 'This page', actions: commands }] : []),
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
            id: 'theme',
            label: 'Switch between dark and light',
            leftSection: <IconMoon size={16} />,
            onClick: toggleColorScheme,
          },
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
        actions: pages.map(({ path, label, icon: Icon }) => ({
          id: `page-${path}`,
          label,
          leftSection: <Icon size={16} />,
          onClick: () => void navigate({ to: path }),
        })),
      },
      { group: 'Sessions', actions: sessions },
    ]
  }, [cards, commands, navigate, toggleColorScheme])
  return (
    <Spotlight
      actions={actions}
      shortcut={null}
      onSpotlightClose={() => useShell.setState({ palette: false })}
      limit={12}
      nothingFound="Nothing is called that."
      highlightQuery
      scrollable
      maxHeight={420}
      transitionProps={{ duration: 100 }}
      searchProps={{ leftSection: <IconSearch size={16} />, placeholder: 'Search sessions, pages and commands …' }}
    />
  )
}
