import { createRootRoute, createRoute, createRouter, lazyRouteComponent } from '@tanstack/react-router'
import type { ComponentType } from 'react'
import { beforehand, patiently } from '@/lib/later'
import { canLeave, loadAgain, useVersion } from '@/lib/version'
import { pages } from '@/pages/pages'
import { placeFrom } from '@/pages/session/split/place'
import { Broken } from '@/shell/Broken'
import { NotFound } from '@/shell/NotFound'
import { OnItsWay } from '@/shell/OnItsWay'
import { Shell } from '@/shell/Shell'
import { useLink } from '@/state/link'

const root = createRootRoute({ component: Shell, notFoundComponent: NotFound })

function page(load: () => Promise<{ default: ComponentType }>) {
  const patient = patiently(load)
  beforehand(patient)
  return lazyRouteComponent(() => patient())
}

const session = createRoute({
  getParentRoute: () => root,
  path: '/sessions/$id',
  validateSearch: placeFrom,
  component: page(() => import('@/pages/session')),
})

/** Not in the rail: it is where one goes when there is no model, or another is wanted. */
const welcome = createRoute({
  getParentRoute: () => root,
  path: '/welcome',
  component: page(() => import('@/pages/welcome')),
})

/** Not in the rail: a link that somebody was sent leads there. */
const join = createRoute({
  getParentRoute: () => root,
  path: '/join',
  component: lazyRouteComponent(patiently(() => import('@/pages/join'))),
})

const listed = pages.map(({ path, load }) => createRoute({ getParentRoute: () => root, path, component: page(load) }))

/** A page that does not come at once shows that it is on its way. */
const AT_ONCE = 300

export const router = createRouter({
  routeTree: root.addChildren([session, welcome, join, ...listed]),
  defaultPreload: 'intent',
  defaultErrorComponent: Broken,
  defaultPendingComponent: OnItsWay,
  defaultPendingMs: AT_ONCE,
  defaultPendingMinMs: 0,
})

// The first step to another page after an update loads the new version there, unless something unsaved would go with it.
router.subscribe('onBeforeNavigate', ({ toLocation, pathChanged }) => {
  const { newer } = useVersion.getState()
  if (!newer || !pathChanged || useLink.getState().link.state !== 'open' || !canLeave()) return
  router.history.flush() // what is loaded is then the step that was made, and no second one after it
  loadAgain(toLocation.href)
})

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router
  }
}
