/** Pages of the rail are known to the router by their list, so that their addresses are words to its types. */
export const OTHER_AGENTS: string = '/history'
export const COSTS: string = '/analytics'
export const COSTS_PLACE = 'all-agents'
