import { AppShell } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { Outlet, useNavigate } from '@tanstack/react-router'
import { lazy, Suspense, useEffect, useState } from 'react'
import { useTold } from '@/lib/tell'
import { pages } from '@/pages/pages'
import { useLink } from '@/state/link'
import { ConnectionBar } from './ConnectionBar'
import { openPalette } from './palette-state'
import { Rail } from './Rail'
import { Refused } from './Refused'
import './shell.css'
import { useShell } from './shell-state'
import { listenToKeys, useKeys, useShortcuts } from './shortcuts'
import { TopBar } from './TopBar'

export function Shell() {
  const [railOpen, rail] = useDisclosure()
  const refused = useLink(({ link }) => link.state === 'refused')
  useEffect(listenToKeys, [])
  useGlobalKeys()
  if (refused) return <Refused />
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
      <Overlays />
    </AppShell>
  )
}

const Palette = lazy(() => import('./Palette'))
const ShortcutHelp = lazy(() => import('./ShortcutHelp'))
const Toasts = lazy(() => import('./Toasts'))
const NewSession = lazy(() => import('@/parts/NewSession'))

/** What can lie over any page is loaded when it is first asked for. */
function Overlays() {
  const palette = useShell((state) => state.palette)
  const newSession = useShell((state) => state.newSession)
  const told = useTold((state) => state.any)
  const help = useShortcuts((state) => state.helpOpen)
  return (
    <Suspense>
      {palette && <Palette />}
      {help && <ShortcutHelp />}
      {newSession && <NewSession />}
      {told && <Toasts />}
    </Suspense>
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
