import { Suspense, useCallback, useState } from 'react'
import { useFocusBack } from '@/lib/focus-back'
import { later } from '@/lib/later'
import { useShell } from './shell-state'

const Palette = later(() => import('./Palette'))
const close = (): void => useShell.setState({ palette: false })
const takeKeys = (field: HTMLInputElement | null): void => field?.focus()

/** The palette. While it loads, a field in its place takes what is typed. */
export function OpenPalette() {
  const [query, setQuery] = useState('')
  const [entered, setEntered] = useState(false)
  const [ready, setReady] = useState(false)
  useFocusBack()
  const focused = useCallback(
    (field: HTMLInputElement) => {
      setReady(true)
      if (!entered) return
      setEntered(false)
      // In a moment, when what was typed has found something.
      setTimeout(() =>
        field.dispatchEvent(new KeyboardEvent('keydown', { code: 'Enter', key: 'Enter', bubbles: true })),
      )
    },
    [entered],
  )
  return (
    <>
      {!ready && (
        <div data-portal className="palette-field">
          <input
            ref={takeKeys}
            aria-label="Search sessions, pages and commands"
            value={query}
            onChange={(event) => setQuery(event.currentTarget.value)}
            onKeyDown={({ key }) => {
              if (key === 'Escape') close()
              if (key === 'Enter') setEntered(true)
            }}
          />
        </div>
      )}
      <Suspense>
        <Palette query={query} onQuery={setQuery} onFocus={focused} onClose={close} />
      </Suspense>
    </>
  )
}
