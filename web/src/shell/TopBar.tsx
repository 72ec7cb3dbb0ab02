import { ActionIcon, Burger, UnstyledButton, useMantineColorScheme } from '@mantine/core'
import { IconMoon, IconPlus, IconSearch, IconSun } from '@tabler/icons-react'
import { Link } from '@tanstack/react-router'
import { money } from '@/lib/format'
import { Tip } from '@/parts/Tip'
import { isRunning } from '@/state/conversation'
import { useOverview } from '@/state/overview'
import { openPalette } from './palette-state'
import { useShell } from './shell-state'
import { shown } from './shortcuts'

export function TopBar({ railOpen, toggleRail }: { railOpen: boolean; toggleRail: () => void }) {
  return (
    <>
      <Burger
        opened={railOpen}
        onClick={toggleRail}
        hiddenFrom="sm"
        size="sm"
        aria-label={railOpen ? 'Close the menu' : 'Open the menu'}
      />
      <Link to="/" className="brand" aria-label="OpenAgent">
        <img src="/icon.svg" width={20} height={20} alt="" />
        <span>OpenAgent</span>
      </Link>
      <UnstyledButton className="search-button" onClick={openPalette}>
        <IconSearch size={14} />
        <span className="cut">Search sessions, run a command …</span>
        <kbd>{shown('mod+k')}</kbd>
      </UnstyledButton>
      <Figures />
      <Tip label="New session (n)">
        <ActionIcon
          variant="subtle"
          color="gray"
          aria-label="New session"
          onClick={() => useShell.setState({ newSession: true })}
        >
          <IconPlus size={18} />
        </ActionIcon>
      </Tip>
      <ThemeSwitch />
    </>
  )
}

function Figures() {
  const running = useOverview(({ cards }) => Object.values(cards).filter(({ info }) => isRunning(info)).length)
  const waiting = useOverview(
    ({ cards }) => Object.values(cards).filter(({ info }) => info.status === 'waiting_approval').length,
  )
  const spend = useOverview(({ metrics }) => metrics?.spend_today_usd ?? 0)
  return (
    <div className="figures" aria-live="off">
      {waiting > 0 && (
        <Link to="/" className="figure-waiting">
          {waiting} waiting
        </Link>
      )}
      <span className="figure-running">
        <span className="mono">{running}</span> running
      </span>
      <span className="figure-spend">
        <span className="mono">{money(spend)}</span> today
      </span>
    </div>
  )
}

function ThemeSwitch() {
  const { colorScheme, setColorScheme } = useMantineColorScheme()
  const light = colorScheme === 'light'
  return (
    <Tip label={light ? 'Dark' : 'Light'}>
      <ActionIcon
        variant="subtle"
        color="gray"
        aria-label={light ? 'Use the dark theme' : 'Use the light theme'}
        onClick={() => setColorScheme(light ? 'dark' : 'light')}
      >
        {light ? <IconMoon size={18} /> : <IconSun size={18} />}
      </ActionIcon>
    </Tip>
  )
}
