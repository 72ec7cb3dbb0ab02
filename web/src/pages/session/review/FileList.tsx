import { IconCheck } from '@tabler/icons-react'
import { apart } from '@/lib/ignored'
import { Churn } from '@/parts/Diff'
import { IgnoredFiles } from '@/parts/IgnoredFiles'
import { OutsideFlag } from '@/parts/RunsOutside'
import type { ChangedFile, OthersChanges, ReviewedFile, ReviewedTurn } from '@/protocol/types'
import { useKept } from './kept'

interface Props {
  turns: ReviewedTurn[]
  others: OthersChanges[]
  turn: number | null
  words: Map<number, string>
  choose: (turn: number | null, file?: ChangedFile) => void
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
          <Items files={each.files} go={(file) => choose(each.turn, file)} />
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
              <Items files={files.map((file) => ({ file }))} go={({ path }) => showOthers(path)} />
              {more > 0 && <p className="dim">and {more} more</p>}
            </div>
          ))}
        </section>
      )}
    </nav>
  )
}

/** Changes of others have no version: there is nothing to keep. */
type Listed = Pick<ReviewedFile, 'file'> & Partial<ReviewedFile>

function Items({ files, go }: { files: Listed[]; go: (file: ChangedFile) => void }) {
  const [known, ignored] = apart(files, ({ file }) => file)
  const list = (some: Listed[]) => (
    <ul>
      {some.map(({ file, version }) => (
        <Item key={file.path} file={file} version={version} go={() => go(file)} />
      ))}
    </ul>
  )
  return (
    <>
      {list(known)}
      <IgnoredFiles files={ignored.map(({ file }) => file)}>{list(ignored)}</IgnoredFiles>
    </>
  )
}

function Item({ file, version = '', go }: { file: ChangedFile; version?: string; go: () => void }) {
  const kept = useKept((state) => state.kept.has(version))
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
