import { createContext, type ReactNode, useContext } from 'react'
import { type PathPlace, pieces } from './parse'
import './paths.css'

/** Opens a file of the workspace that the page is about; null where there is none. */
export const OpenPath = createContext<((path: string, line?: number) => void) | null>(null)

/** A path that opens. A button, not a link: what a model writes makes no addresses of this app. */
export function PathLink({ place, children }: { place: PathPlace; children: ReactNode }) {
  const open = useContext(OpenPath)
  if (!open) return children
  const where = place.line ? `${place.path}, line ${place.line}` : place.path
  return (
    <button type="button" className="path-link" title={`Open ${where}`} onClick={() => open(place.path, place.line)}>
      {children}
    </button>
  )
}

/** The text with its paths to click. */
export function WithPaths({ text }: { text: string }) {
  const open = useContext(OpenPath)
  if (!open) return text
  return pieces(text).map((piece, index) =>
    typeof piece === 'string' ? (
      piece
    ) : (
      <PathLink key={index} place={piece}>
        {piece.text}
      </PathLink>
    ),
  )
}
