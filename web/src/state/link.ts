import { create } from 'zustand'
import type { Link } from '@/connection/connection'

/** How the line to the daemon stands. */
export const useLink = create<{ link: Link }>(() => ({ link: { state: 'connecting' } }))
