import { IconLayoutGrid } from '@tabler/icons-react'
import type { ComponentType } from 'react'

export interface PageEntry {
  path: string
  /** In the rail, the palette and the shortcut help. */
  label: string
  icon: ComponentType<{ size?: number; stroke?: number }>
  /** The second key after `g`. */
  key: string
  load: () => Promise<{ default: ComponentType }>
}

/**
 * Every page that the rail leads to. To add one: a folder `pages/<name>/` whose `index.tsx` exports the page as default
 * (wrap it in `Page` of parts/), and a line here. The route, the rail, the palette and the shortcut come from this list.
 */
export const pages: PageEntry[] = [
  { path: '/', label: 'Sessions', icon: IconLayoutGrid, key: 's', load: () => import('./dashboard') },
]
