import { ActionIcon, Burger, UnstyledButton } from '@mantine/core'
import { IconPlus, IconSearch } from '@tabler/icons-react'
import { Link } from '@tanstack/react-router'
import { leftOut, spend } from '@/lib/format'
import { Tip } from '@/parts/Tip'
import { useByTurn } from '@/state/attention'
import { useOverview } from '@/state/overview'
import { usePeople } from '@/state/people'
import { Bell } from './Bell'
import { PersonMenu } from './PersonTrigger'
import { openPalette } from './palette-state'
import { useShell } from './shell-state'
import { shown } from './shortcuts'
import { ThemeSwitch } from './ThemeSwitch'

export function TopBar({ railOpen, toggleRail }: { railOpen: boolean; toggleRail: () => void }) {
  const person = usePeople((state) => state.person)
  return (
    <>
      <div className="top-side">
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
      </div>
      <UnstyledButton className="search-button" onClick={openPalette}>
        <IconSearch size={14} />
        <span className="cut">Search sessions, run a command …</span>
        <kbd>{shown('mod+k')}</kbd>
      </UnstyledButton>
      <div className="top-side">
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
        <Bell />
        {person ? <PersonMenu person={person} /> : <ThemeSwitch />}
      </div>
    </>
  )
}

function Figures() {
  const { needsYou, running } = useByTurn()
  const metrics = useOverview((state) => state.metrics)
  const unpriced = metrics?.unpriced_today ?? 0
  return (
    <div className="figures" aria-live="off">
      {needsYou.length > 0 && (
        <Link to="/" className="figure-waiting">
          {needsYou.length} {needsYou.length === 1 ? 'needs' : 'need'} you
        </Link>
      )}
      <span className="figure-running">
        <span className="mono">{running.length}</span> running
      </span>
      <span className="figure-spend" title={leftOut(unpriced) || undefined}>
        <span className="mono">{spend(metrics?.spend_today_usd ?? 0, unpriced, metrics?.tokens_today ?? 0)}</span> today
      </span>
    </div>
  )
}
