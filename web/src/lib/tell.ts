import { create } from 'zustand'

export interface Told {
  tone: 'plain' | 'warn' | 'bad'
  title: string
  text: string
  /** One thing that can be done about it. */
  action?: { label: string; run: () => void }
}

/** Words to the person, waiting to be shown. What shows them is loaded with the first. */
export const useTold = create<{ waiting: Told[]; any: boolean }>(() => ({ waiting: [], any: false }))

export function tell(told: Told): void {
  useTold.setState(({ waiting }) => ({ waiting: [...waiting, told], any: true }))
}
