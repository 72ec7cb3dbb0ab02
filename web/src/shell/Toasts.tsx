import '@mantine/notifications/styles.css'
import { Notifications, notifications } from '@mantine/notifications'
import { useEffect } from 'react'
import { useTold } from '@/lib/tell'

const COLOURS = { plain: 'indigo', warn: 'yellow', bad: 'red' } as const

/** Short words in the corner, gone after a moment. */
export default function Toasts() {
  const waiting = useTold((state) => state.waiting)
  useEffect(() => {
    if (waiting.length === 0) return
    for (const { tone, title, text } of waiting) notifications.show({ color: COLOURS[tone], title, message: text })
    useTold.setState({ waiting: [] })
  }, [waiting])
  return <Notifications position="bottom-right" limit={4} autoClose={8000} />
}
