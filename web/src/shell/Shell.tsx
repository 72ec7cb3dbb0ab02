import { AppShell } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { CatchBoundary, Outlet, useNavigate } from '@tanstack/react-router'
import { Suspense, useEffect, useMemo } from 'react'
import { tellProblem } from '@/lib/ask'
import { listenToFocus } from '@/lib/focus-back'
import { later } from '@/lib/later'
import { useTold } from '@/lib/tell'
import { usePages } from '@/pages/shown'
import { useLink } from '@/state/link'
import { useOverview } from '@/state/overview'
import { useBadge } from './badge'
import { ConnectionBar } from './ConnectionBar'
import { useNotifying } from './notifying'
import { OpenPalette } from './OpenPalette'
import { openPalette } from './palette-state'
import { Rail } from './Rail'
import { Refused } from './Refused'
import { toggleRail, useRail } from './rail-state'
import './shell.css'
import { useShell } from './shell-state'
import { listenToKeys, useKeys, useShortcuts } from './shortcuts'
import { TopBar } from './TopBar'
import { Updated } from './Updated'

export function Shell() {
  const [railOpen, rail] = useDisclosure()
  const folded = useRail((state) => state.folded)
  const refused = useLink(({ link }) => link.state === 'refused')
  const before = useOverview(({ loaded }) => loaded)
  useEffect(listenToKeys, [])
  useEffect(listenToFocus, [])
  useGlobalKeys()
  useBadge()
  useNotifying()
  // What was there before stays: something unsaved may be in it, and the bar tells the rest.
  if (refused && !before) return <Refused />
  return (
    <AppShell
      header={{ height: 44 }}
      navbar={{ width: { sm: 52, lg: folded ? 52 : 168 }, breakpoint: 'sm', collapsed: { mobile: !railOpen } }}
      padding={0}
      transitionDuration={0}
    >
      <a className="skip" href="#main">
        To the content
      </a>
      <AppShell.Header className="top">
        <TopBar railOpen={railOpen} toggleRail={rail.toggle} />
      </AppShell.Header>
      <AppShell.Navbar className={folded ? 'rail rail-folded' : 'rail'} aria-label="Pages">
        <Rail close={rail.close} />
      </AppShell.Navbar>
      <AppShell.Main id="main" className="main" tabIndex={-1}>
        <div className="bars">
          <ConnectionBar />
          <Updated />
        </div>
        <div className="main-content">
          <Outlet />
        </div>
      </AppShell.Main>
      <Overlays />
    </AppShell>
  )
}

const ShortcutHelp = later(() => import('./ShortcutHelp'))
const Toasts = later(() => import('./Toasts'))
const NewSession = later(() => import('@/parts/NewSession'))
const ImportSession = later(() => import('@/parts/import/ImportSession'))

/** One of them that breaks takes nothing else with it. */
function Nothing() {
  return null
}

/** What can lie over any page is loaded when it is first asked for. */
function Overlays() {
  const palette = useShell((state) => state.palette)
  const newSession = useShell((state) => state.newSession)
  const importing = useShell((state) => state.importing)
  const told = useTold((state) => state.any)
  const help = useShortcuts((state) => state.helpOpen)
  return (
    <CatchBoundary
      getResetKey={() => `${palette}${help}${newSession}${importing}`}
      errorComponent={Nothing}
      onCatch={tellProblem}
    >
      <Suspense>
        {palette && <OpenPalette />}
        {help && <ShortcutHelp />}
        {newSession && <NewSession />}
        {importing && <ImportSession />}
        {told && <Toasts />}
      </Suspense>
    </CatchBoundary>
  )
}

function useGlobalKeys(): void {
  const navigate = useNavigate()
  const pages = usePages()
  const bindings = useMemo(
    () => [
      { keys: 'mod+k', what: 'Search and commands', run: openPalette, always: true },
      { keys: '/', what: 'Search and commands', run: openPalette },
      { keys: '?', what: 'Keys', run: () => useShortcuts.setState(({ helpOpen }) => ({ helpOpen: !helpOpen })) },
      { keys: '[', what: 'Fold or show the rail', run: toggleRail },
      { keys: 'n', what: 'New session', run: () => useShell.setState({ newSession: true }) },
      ...pages.map((page) => ({
        keys: `g ${page.key}`,
        what: `To ${page.label.toLowerCase()}`,
        run: () => void navigate({ to: page.path }),
      })),
    ],
    [pages, navigate],
  )
  useKeys('Everywhere', bindings)
}
