import { create } from 'zustand'
import type { ImagePart } from '@/protocol/types'

/** An earlier message that is about to be said again, in the same words or in others. */
export interface Resend {
  session: string
  number: number
  turn: number
  text: string
  images: ImagePart[]
}

export const useResend = create<{ one: Resend | null }>(() => ({ one: null }))

export const sayAgain = (one: Resend): void => useResend.setState({ one })
export const leaveResend = (): void => useResend.setState({ one: null })
