/** So many rows of a table are shown until more are asked for. */
export const SHOWN = 20

export function MoreRows({ count, all, setAll }: { count: number; all: boolean; setAll: (all: boolean) => void }) {
  if (count <= SHOWN) return null
  return (
    <button type="button" className="usage-more" aria-expanded={all} onClick={() => setAll(!all)}>
      {all ? 'Show fewer' : `Show all ${count}`}
    </button>
  )
}
