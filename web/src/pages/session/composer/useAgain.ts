import { useEffect, useRef } from 'react'
import { attachedImage } from './attachments'
import { leaveResend, useResend } from './resend'
import type { useFiles } from './useFiles'

/** An earlier message in the input; what stood there before comes back afterwards. */
export function useAgain(
  session: string,
  text: string,
  setText: (text: string) => void,
  setFiles: ReturnType<typeof useFiles>['set'],
  focus: () => void,
) {
  const wanted = useResend((state) => state.one)
  const one = wanted?.session === session ? wanted : null
  const before = useRef({ text, one })
  before.current.text = before.current.one ? before.current.text : text
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
      setFiles([])
    }
  }, [one])
  useEffect(() => () => leaveResend(), [])
  return { one }
}
