import {
  IconAdjustments,
  IconBook2,
  IconChartBar,
  IconChecklist,
  IconCopy,
  IconGavel,
  IconHistory,
  IconKey,
  IconLayoutGrid,
  IconPackages,
  IconPlugConnected,
  IconPuzzle,
  IconRoute,
  IconSettings,
  IconShieldCheck,
  IconShieldSearch,
  IconSitemap,
  IconTool,
  IconUsers,
  IconUsersGroup,
  IconWebhook,
} from '@tabler/icons-react'
import type { ComponentType } from 'react'

type Icon = ComponentType<{ size?: number; stroke?: number }>

export interface PageEntry {
  path: string
  /** In the rail, the palette and the shortcut help. */
  label: string
  /** What else the palette finds it by. */
  keywords?: string[]
  icon: Icon
  /** The second key after `g`. */
  key: string
  /** Pages of one group share a place in the rail; a line above each of them leads to the others. */
  group?: keyof typeof groups
  /** Nothing for those who work here and do not run it; `several`: and nothing to who is alone. */
  admins?: true | 'several'
  load: () => Promise<{ default: ComponentType }>
}

export const groups = {
  Workspaces: IconCopy,
  Analytics: IconChartBar,
  Customise: IconAdjustments,
  Safety: IconShieldCheck,
  Settings: IconSettings,
} satisfies Record<string, Icon>

/**
 * Every page that the rail leads to. To add one: a folder `pages/<name>/` whose `index.tsx` exports the page as default
 * (wrap it in `Page` of parts/), and a line here. The route, the rail, the palette and the shortcut come from this list.
 */
export const pages: PageEntry[] = [
  { path: '/', label: 'Sessions', icon: IconLayoutGrid, key: 's', load: () => import('./dashboard') },
  { path: '/tasks', label: 'Tasks', icon: IconChecklist, key: 't', load: () => import('./tasks') },
  {
    path: '/flows',
    label: 'Flows',
    icon: IconRoute,
    key: 'f',
    load: () => import('./flows'),
  },
  {
    path: '/workspaces',
    label: 'Workspaces',
    icon: IconCopy,
    key: 'w',
    group: 'Workspaces',
    load: () => import('./workspaces'),
  },
  {
    path: '/code',
    label: 'Code map',
    icon: IconSitemap,
    key: 'd',
    group: 'Workspaces',
    load: () => import('./code'),
  },
  {
    path: '/analytics',
    label: 'Analytics',
    icon: IconChartBar,
    key: 'u',
    group: 'Analytics',
    admins: true,
    load: () => import('./analytics'),
  },
  {
    path: '/history',
    label: 'Other agents',
    icon: IconHistory,
    key: 'b',
    group: 'Analytics',
    admins: true,
    load: () => import('./history'),
  },
  {
    path: '/templates',
    label: 'Templates',
    icon: IconUsersGroup,
    key: 'p',
    group: 'Customise',
    load: () => import('./templates'),
  },
  {
    path: '/skills',
    label: 'Skills',
    icon: IconBook2,
    key: 'l',
    group: 'Customise',
    load: () => import('./skills'),
  },
  {
    path: '/hooks',
    label: 'Hooks',
    icon: IconWebhook,
    key: 'h',
    group: 'Customise',
    load: () => import('./hooks'),
  },
  {
    path: '/plugins',
    label: 'Plugins',
    icon: IconPuzzle,
    key: 'i',
    group: 'Customise',
    load: () => import('./plugins'),
  },
  {
    path: '/settings/tools',
    label: 'Tools',
    icon: IconTool,
    key: 'o',
    group: 'Customise',
    load: () => import('./tools'),
  },
  {
    path: '/settings/mcp',
    label: 'MCP servers',
    keywords: ['add mcp server', 'connect mcp server'],
    icon: IconPlugConnected,
    key: 'm',
    group: 'Customise',
    load: () => import('./mcp'),
  },
  {
    path: '/grants',
    label: 'Grants',
    icon: IconShieldCheck,
    key: 'g',
    group: 'Safety',
    load: () => import('./grants'),
  },
  {
    path: '/rules',
    label: 'Rules',
    icon: IconGavel,
    key: 'r',
    group: 'Safety',
    load: () => import('./rules'),
  },
  {
    path: '/audit',
    label: 'Audit',
    icon: IconShieldSearch,
    key: 'a',
    group: 'Safety',
    admins: true,
    load: () => import('./audit'),
  },
  {
    path: '/settings',
    label: 'Settings',
    icon: IconSettings,
    key: 'c',
    group: 'Settings',
    admins: true,
    load: () => import('./settings'),
  },
  {
    path: '/auth',
    label: 'Keys and logins',
    keywords: ['connect a model', 'provider', 'ollama', 'openai', 'anthropic', 'api key'],
    icon: IconKey,
    key: 'k',
    group: 'Settings',
    admins: true,
    load: () => import('./auth'),
  },
  {
    path: '/settings/extras',
    label: 'Extras',
    icon: IconPackages,
    key: 'e',
    group: 'Settings',
    admins: true,
    load: () => import('./extras'),
  },
  {
    path: '/people',
    label: 'People and teams',
    icon: IconUsers,
    key: 'n',
    group: 'Settings',
    admins: 'several',
    load: () => import('./people'),
  },
]

/** What stands in the rail: a page, or the pages of a group by one name. */
export interface RailEntry {
  label: string
  icon: Icon
  pages: [PageEntry, ...PageEntry[]]
}

export function railEntries(pages: PageEntry[]): RailEntry[] {
  const found: RailEntry[] = []
  for (const page of pages) {
    const there = page.group && found.find(({ label }) => label === page.group)
    if (there) there.pages.push(page)
    else
      found.push({ label: page.group ?? page.label, icon: page.group ? groups[page.group] : page.icon, pages: [page] })
  }
  return found
}
