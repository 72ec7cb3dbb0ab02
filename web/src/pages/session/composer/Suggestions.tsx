import { IconEye } from '@tabler/icons-react'
import { useEffect, useLayoutEffect, useRef } from 'react'
import type { SessionInfo } from '@/protocol/types'
import { type Suggestion, useSuggestions } from './useSuggestions'
import type { Word } from './words'
import { optionId } from './words'
import '../completion.css'

/** The name of a group stays in sight with its first option. */
const MARGIN = 26

interface Props {
  info: SessionInfo
  found: Word
  chosen: number
  choose: (one: Suggestion) => void
  lookInto: (one: Suggestion) => void
  /** Who has the keys is told what there is to choose from. */
  tell: (all: Suggestion[]) => void
}

/** What fits the word before the cursor, in groups. The focus stays in the input, which says what is chosen. */
export default function Suggestions({ info, found, chosen, choose, lookInto, tell }: Props) {
  const all = useSuggestions(info, found)
  useLayoutEffect(() => {
    tell(all)
    return () => tell([])
  }, [all, tell])
  if (all.length === 0) return null
  return <List all={all} chosen={Math.min(chosen, all.length - 1)} choose={choose} lookInto={lookInto} />
}

interface ListProps extends Pick<Props, 'chosen' | 'choose' | 'lookInto'> {
  all: Suggestion[]
}

function List(props: ListProps) {
  const box = useRef<HTMLDivElement>(null)
  useEffect(() => {
    keepInSight(box.current, box.current?.querySelector<HTMLElement>(`#${optionId(props.chosen)}`))
  }, [props.chosen])
  return (
    <div className="suggestions" id="suggestions" ref={box} role="listbox" aria-label="Suggestions">
      {groups(props.all).map(([group, places]) => (
        // biome-ignore lint/a11y/useSemanticElements: a group of options, not of fields
        <div key={group} role="group" aria-label={group}>
          <div className="suggestion-group" aria-hidden>
            {group}
          </div>
          {places.map(([place, one]) => (
            <button
              key={one.key}
              id={optionId(place)}
              type="button"
              role="option"
              tabIndex={-1}
              aria-selected={place === props.chosen}
              className="suggestion"
              onMouseDown={(event) => {
                event.preventDefault()
                props.choose(one)
              }}
            >
              <span className="mono suggestion-label">{one.label}</span>
              <span className="dim cut suggestion-hint">{one.hint}</span>
              {one.resource && (
                // With the keyboard it is Ctrl-Enter.
                <span
                  className="suggestion-look"
                  aria-hidden
                  onMouseDown={(event) => {
                    event.preventDefault()
                    event.stopPropagation()
                    props.lookInto(one)
                  }}
                >
                  <IconEye size={14} />
                </span>
              )}
            </button>
          ))}
        </div>
      ))}
      <div className="suggestions-keys dim" aria-hidden>
        <kbd>↑</kbd> <kbd>↓</kbd> choose · <kbd>Tab</kbd> or <kbd>Enter</kbd> takes it · <kbd>Esc</kbd> closes
        {props.all[props.chosen]?.resource && (
          <>
            {' '}
            · <kbd>Ctrl</kbd> <kbd>Enter</kbd> looks into it
          </>
        )}
      </div>
    </div>
  )
}

/** Scrolls the list and nothing around it, as the browser's own way would. */
function keepInSight(box: HTMLElement | null, option: HTMLElement | null | undefined): void {
  if (!box || !option) return
  const { top, bottom } = option.getBoundingClientRect()
  const outer = box.getBoundingClientRect()
  const keys = box.lastElementChild?.getBoundingClientRect().height ?? 0
  if (top < outer.top + MARGIN) box.scrollTop -= outer.top + MARGIN - top
  else if (bottom > outer.bottom - keys - MARGIN) box.scrollTop += bottom - outer.bottom + keys + MARGIN
}

function groups(all: Suggestion[]): [string, [number, Suggestion][]][] {
  const found = new Map<string, [number, Suggestion][]>()
  all.forEach((one, place) => {
    const there = found.get(one.group)
    if (there) there.push([place, one])
    else found.set(one.group, [[place, one]])
  })
  return [...found]
}
