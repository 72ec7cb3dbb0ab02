import type { Skill } from '@/protocol/types'

/** Whose something is, in words. */
export const ORIGINS: Record<NonNullable<Skill['origin']>, string> = {
  user: 'yours',
  project: 'of the project',
  mcp: 'of an MCP server',
}
