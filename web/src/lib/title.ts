import { useEffect } from 'react'
import { create } from 'zustand'

/** What the open page is called. The shell makes the tab's title of it, and of what needs the person. */
export const usePageTitle = create<{ title: string }>(() => ({ title: '' }))

export function useTitle(title: string): void {
  useEffect(() => usePageTitle.setState({ title }), [title])
}
