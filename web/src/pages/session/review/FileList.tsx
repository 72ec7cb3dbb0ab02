import { IconCheck } from '@tabler/icons-react'
import { Churn } from '@/parts/Diff'
import { OutsideFlag } from '@/parts/RunsOutside'
import type { ChangedFile, OthersChanges, ReviewedFile, ReviewedTurn } from '@/protocol/types'
import { useKept } from './kept'

interface Props {
  turns: ReviewedTurn[]
  others: OthersChanges[]
  turn: number | null
  words: Map<number, string>
  choose: (turn: number | null, path?: string) => void
  showOthers: (path: string) => void
}

/** What changed by turn, and apart from it what others changed since. */
export function FileList({ turns, others, turn, words, choose, showOthers }: Props) {
  return (
    <nav className="review-list" aria-label="Changed files">
      <button type="button" className="review-scope" aria-pressed={turn === null} onClick={() => choose(null)}>
        All turns together
      </button>
      {turns.map((each) => (
        <section key={each.turn}>
          <button
            type="button"
            className="review-scope"
            aria-pressed={turn === each.turn}
            title={words.get(each.turn)}
            onClick={() => choose(each.turn)}
          >
            <span className="mono">turn {each.turn}</span> <span className="dim cut">{words.get(each.turn)}</span>
          </button>
          <ul>
            {each.files.map((one) => (
              <Item key={one.file.path} file={one.file} one={one} go={() => choose(each.turn, one.file.path)} />
            ))}
          </ul>
        </section>
      ))}
      {others.length > 0 && (
        <section aria-label="Others since" className="review-others">
          <h3>Others since</h3>
          {others.map(({ session = '', name, files, more = 0 }) => (
            <div key={session}>
              <p className="dim cut" title={session}>
                {session ? name || `session ${session.slice(0, 8)}` : 'you, or another program'}
              </p>
              <ul>
                {files.map((file) => (
                  <Item key={file.path} file={file} go={() => showOthers(file.path)} />
                ))}
              </ul>
              {more > 0 && <p className="dim">and {more} more</p>}
            </div>
          ))}
        </section>
      )}
    </nav>
  )
}

function Item({ file, one, go }: { file: ChangedFile; one?: ReviewedFile; go: () => void }) {
  const kept = useKept((state) => (one ? state.kept.has(one.version) : false))
  return (
    <li>
      <button type="button" className="review-item" title={file.path} onClick={go}>
        <span className={`mono change-${file.status}`}>{file.status}</span>
        <span className="mono review-item-path">
          <bdi>{file.path}</bdi>
        </span>
        <OutsideFlag reason={file.runs_outside} />
        {kept && <IconCheck size={13} className="review-check" aria-label="kept" />}
        <Churn added={file.added} removed={file.removed} />
      </button>
    </li>
  )
}
