import { AppShell } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { Outlet, useNavigate } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { pages } from '@/pages/pages'
import { NewSession } from '@/parts/NewSession'
import { useLink } from '@/state/link'
import { ConnectionBar } from './ConnectionBar'
import { openPalette, Palette } from './Palette'
import { Rail } from './Rail'
import { ShortcutHelp } from './ShortcutHelp'
import { SignIn } from './SignIn'
import './shell.css'
import { useShell } from './shell-state'
import { listenToKeys, useKeys, useShortcuts } from './shortcuts'
import { TopBar } from './TopBar'

export function Shell() {
  const [railOpen, rail] = useDisclosure()
  const refused = useLink(({ link }) => link.state === 'refused')
  useEffect(listenToKeys, [])
  useGlobalKeys()
  if (refused) return <SignIn />
  return (
    <AppShell
      header={{ height: 44 }}
      navbar={{ width: 52, breakpoint: 'sm', collapsed: { mobile: !railOpen } }}
      padding={0}
      transitionDuration={0}
    >
      <a className="skip" href="#main">
        To the content
      </a>
      <AppShell.Header className="top">
        <TopBar railOpen={railOpen} toggleRail={rail.toggle} />
      </AppShell.Header>
      <AppShell.Navbar className="rail" aria-label="Pages">
        <Rail close={rail.close} />
      </AppShell.Navbar>
      <AppShell.Main id="main" className="main">
        <ConnectionBar />
        <div className="main-content">
          <Outlet />
        </div>
      </AppShell.Main>
      <Palette />
      <ShortcutHelp />
      <NewSession />
    </AppShell>
  )
}

function useGlobalKeys(): void {
  const navigate = useNavigate()
  const [bindings] = useState(() => [
    { keys: 'mod+k', what: 'Search and commands', run: openPalette, always: true },
    { keys: '/', what: 'Search and commands', run: openPalette },
    { keys: '?', what: 'Keys', run: () => useShortcuts.setState(({ helpOpen }) => ({ helpOpen: !helpOpen })) },
    { keys: 'n', what: 'New session', run: () => useShell.setState({ newSession: true }) },
    ...pages.map((page) => ({
      keys: `g ${page.key}`,
      what: `To ${page.label.toLowerCase()}`,
      run: () => void navigate({ to: page.path }),
    })),
  ])
  useKeys('Everywhere', bindings)
}
