import { useEffect, useRef } from 'react'
import { attachedImage } from './attachments'
import { leaveResend, useResend } from './resend'
import type { useFiles } from './useFiles'

/** An earlier message in the input; what stood there before comes back afterwards. */
export function useAgain(
  session: string,
  text: string,
  setText: (text: string) => void,
  { attached, set: setFiles }: Pick<ReturnType<typeof useFiles>, 'attached' | 'set'>,
  focus: () => void,
) {
  const wanted = useResend((state) => state.one)
  const one = wanted?.session === session ? wanted : null
  const before = useRef({ text, attached, one })
  if (!before.current.one) before.current = { text, attached, one: null }
  // What stands in the input changes with the message alone.
  useEffect(() => {
    const was = before.current.one
    before.current.one = one
    if (one) {
      setText(one.text)
      setFiles(one.images.map(attachedImage))
      focus()
    } else if (was) {
      setText(before.current.text)
      setFiles(before.current.attached)
    }
  }, [one])
  useEffect(() => () => leaveResend(), [])
  return { one }
}
