import {
  IconChartBar,
  IconChecklist,
  IconKey,
  IconLayoutGrid,
  IconPlugConnected,
  IconSettings,
  IconShieldCheck,
  IconShieldSearch,
  IconTool,
  IconUsersGroup,
} from '@tabler/icons-react'
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
  { path: '/tasks', label: 'Tasks', icon: IconChecklist, key: 't', load: () => import('./tasks') },
  { path: '/templates', label: 'Templates', icon: IconUsersGroup, key: 'p', load: () => import('./templates') },
  { path: '/analytics', label: 'Analytics', icon: IconChartBar, key: 'u', load: () => import('./analytics') },
  { path: '/grants', label: 'Grants', icon: IconShieldCheck, key: 'g', load: () => import('./grants') },
  { path: '/audit', label: 'Audit', icon: IconShieldSearch, key: 'a', load: () => import('./audit') },
  { path: '/auth', label: 'Keys and logins', icon: IconKey, key: 'k', load: () => import('./auth') },
  { path: '/settings/tools', label: 'Tools', icon: IconTool, key: 'o', load: () => import('./tools') },
  { path: '/settings/mcp', label: 'MCP servers', icon: IconPlugConnected, key: 'm', load: () => import('./mcp') },
  { path: '/settings', label: 'Settings', icon: IconSettings, key: 'c', load: () => import('./settings') },
]
