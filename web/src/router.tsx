import { createRootRoute, createRoute, createRouter, lazyRouteComponent } from '@tanstack/react-router'
import { pages } from '@/pages/pages'
import { NotFound } from '@/shell/NotFound'
import { Shell } from '@/shell/Shell'

const root = createRootRoute({ component: Shell, notFoundComponent: NotFound })

const session = createRoute({
  getParentRoute: () => root,
  path: '/sessions/$id',
  validateSearch: (search): { tab?: 'files' | 'terminal'; file?: string; at?: number } => ({
    tab: search.tab === 'files' || search.tab === 'terminal' ? search.tab : undefined,
    file: typeof search.file === 'string' ? search.file : undefined,
    at: typeof search.at === 'number' ? search.at : undefined,
  }),
  component: lazyRouteComponent(() => import('@/pages/session')),
})

const listed = pages.map((page) =>
  createRoute({ getParentRoute: () => root, path: page.path, component: lazyRouteComponent(page.load) }),
)

export const router = createRouter({ routeTree: root.addChildren([session, ...listed]), defaultPreload: 'intent' })

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router
  }
}
