import '@fontsource-variable/inter/wght.css'
import '@fontsource-variable/jetbrains-mono/wght.css'
import '@mantine/core/styles.css'
import './styles.css'
import { localStorageColorSchemeManager, MantineProvider } from '@mantine/core'
import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { beginFetching } from './lib/later'
import { watchVersion } from './lib/version'
import { router } from './router'
import { daemon } from './state/daemon'
import { startOutbox } from './state/outbox'
import { colours, theme } from './theme'

/** What a person sees first comes first; other pages are fetched after this many milliseconds. */
const QUIET_AFTER = 1500

daemon.start()
watchVersion(import.meta.url)
addEventListener('load', () => setTimeout(beginFetching, QUIET_AFTER))
startOutbox()

// The line says itself when it is down, and events say when something is stale: no polling, no refetch on focus.
const queries = new QueryClient({
  defaultOptions: { queries: { retry: false, refetchOnWindowFocus: false, staleTime: 15_000, networkMode: 'always' } },
})
const schemes = localStorageColorSchemeManager({ key: 'openagent.theme' })

createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <MantineProvider
      theme={theme}
      cssVariablesResolver={colours}
      colorSchemeManager={schemes}
      defaultColorScheme="auto"
    >
      <QueryClientProvider client={queries}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </MantineProvider>
  </StrictMode>,
)
