import '@mantine/notifications/styles.css'
import { Button } from '@mantine/core'
import { Notifications, notifications } from '@mantine/notifications'
import { useCallback, useEffect, useState } from 'react'
import { useTold } from '@/lib/tell'
import { useKeys } from './shortcuts'

let count = 0

const COLOURS = { plain: 'indigo', warn: 'yellow', bad: 'red' } as const

/** Short words in the corner, gone after a moment. What can be done about the newest has a key: the corner is far. */
export default function Toasts() {
  const waiting = useTold((state) => state.waiting)
  const [newest, setNewest] = useState<{ id: string; label: string; run: () => void } | null>(null)
  const gone = useCallback((id?: string) => setNewest((one) => (one?.id === id ? null : one)), [])
  useKeys('A note', newest ? [{ keys: 'z', what: newest.label, run: newest.run }] : [])
  useEffect(() => {
    if (waiting.length === 0) return
    for (const { tone, title, text, action } of waiting) {
      const id = `told-${++count}`
      const run = () => {
        notifications.hide(id)
        action?.run()
      }
      if (action) setNewest({ id, label: action.label, run })
      notifications.show({
        id,
        color: COLOURS[tone],
        title,
        message: action ? (
          <>
            {text}{' '}
            <Button size="compact-xs" variant="light" onClick={run} rightSection={<kbd>z</kbd>}>
              {action.label}
            </Button>
          </>
        ) : (
          text
        ),
        autoClose: action ? 20_000 : undefined,
        onClose: (closed) => gone(closed.id),
        closeButtonProps: { 'aria-label': 'Close' },
      })
    }
    useTold.setState({ waiting: [] })
  }, [waiting, gone])
  return <Notifications position="bottom-right" limit={4} autoClose={8000} />
}
