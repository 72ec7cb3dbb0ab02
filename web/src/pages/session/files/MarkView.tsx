import { LETTERS, type Mark, wordsOf } from './marks'

/** `M`, `N` in git's colours, a dot for this session's doing, a ring for what is not saved. */
export function MarkView({ mark, folder = false }: { mark: Mark | undefined; folder?: boolean }) {
  const words = mark && wordsOf(mark)
  if (!mark || !words) return null
  return (
    <span className="mark" title={folder ? `Something in it is ${words}` : words}>
      <span className="visually-hidden">{folder ? `something in it is ${words}` : words}</span>
      {mark.unsaved && <span className="mark-unsaved" aria-hidden />}
      {mark.session && <span className="mark-session" aria-hidden />}
      {mark.git && !folder && (
        <span className={`mono mark-${mark.git}`} aria-hidden>
          {LETTERS[mark.git]}
        </span>
      )}
    </span>
  )
}
