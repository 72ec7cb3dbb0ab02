import { act } from '@/lib/ask'
import { countWords, filesWords } from '@/lib/ignored'
import { outsideWords } from '@/lib/outside'
import { tell } from '@/lib/tell'
import type { ChangedFile, Rewound } from '@/protocol/types'

/** What became of the files that the preview named, in the same numbers, and the way back. */
export function tellRewound(session: string, turn: number, previewed: ChangedFile[], done: Rewound): void {
  const kept = done.kept ?? []
  const { undo } = done
  tell({
    tone: kept.length > 0 ? 'warn' : 'plain',
    title: `Back to before turn ${turn}`,
    text: [
      kept.length > 0 ? `Could not be restored: ${kept.join('; ')}` : restoredWords(previewed, done),
      ...Object.entries(done.runs_outside ?? {}).map(([path, reason]) => `${path} ${outsideWords(reason)}.`),
    ].join(' '),
    action: undo ? { label: 'Bring it back', run: () => void act('session.redo', { session, undo }) } : undefined,
  })
}

/** Folders that came or went with their files are not counted: nobody was shown them. */
export function restoredWords(previewed: ChangedFile[], { written = [], removed = [] }: Rewound): string {
  const touched = new Set([...written, ...removed])
  const back = previewed.filter(({ path, old_path: old }) => touched.has(path) || (old && touched.has(old))).length
  if (previewed.length === 0 || back === 0) return 'No file had to change.'
  if (back < previewed.length) return `${back} of ${filesWords(previewed.length)} are as before.`
  return `${countWords(previewed)} ${back === 1 ? 'is' : 'are'} as before.`
}
