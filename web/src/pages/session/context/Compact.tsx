import { Button } from '@mantine/core'
import { useState } from 'react'
import { act, useAsk } from '@/lib/ask'
import { tokens } from '@/lib/format'
import { useRenew } from '@/lib/live'
import { tell } from '@/lib/tell'
import { ErrorState, LoadingRows } from '@/parts/states'
import type { ContextProposal, ContextReport } from '@/protocol/types'

/** What would go, before it does. */
export function Compact({ report, done }: { report: ContextReport; done: () => void }) {
  const renew = useRenew('context.show')
  const { session } = report
  const preview = useAsk('context.collect', { session, dry_run: true }, { staleTime: 0, gcTime: 0, retry: false })
  const [busy, setBusy] = useState(false)
  const compact = async () => {
    setBusy(true)
    const made = await act('context.collect', { session })
    setBusy(false)
    if (!made) return
    tell({
      tone: 'plain',
      title: made.collection ? 'Compacted' : 'Nothing went',
      text: made.note || `${tokens(made.tokens_before ?? 0)} tokens before, ${tokens(made.tokens_after ?? 0)} now.`,
    })
    await renew()
    done()
  }
  if (preview.isPending) return <LoadingRows count={2} height={24} />
  if (preview.error) return <ErrorState problem={preview.error} retry={() => void preview.refetch()} />
  const proposal = preview.data
  const any = (proposal.hidden ?? []).length > 0 || (proposal.shortened ?? []).length > 0
  return (
    <section className="context-compact panel" aria-label="Preview">
      <p>
        <strong>{any ? 'This would go' : 'Nothing would go'}</strong> · {proposal.collector}
      </p>
      {any && <p>{wordsFor(proposal, report)}</p>}
      {(proposal.note || !any) && (
        <p className="dim">
          {proposal.note || 'The newest turns stay as they are, and there is not more than those and what is pinned.'}
        </p>
      )}
      <div className="form-actions">
        <Button variant="default" size="xs" onClick={done}>
          Leave it
        </Button>
        <Button size="xs" loading={busy} disabled={!any} onClick={() => void compact()}>
          Compact
        </Button>
      </div>
    </section>
  )
}

function wordsFor(
  { hidden = [], shortened = [], tokens_before = 0, tokens_after = 0 }: ContextProposal,
  report: ContextReport,
) {
  const ranges = hidden.map(([from, to]) => (from === to ? `${from}` : `${from} to ${to}`)).join(', ')
  const pinned = (report.messages ?? []).filter((one) => one.pinned).length
  return [
    ...(ranges ? [`Messages ${ranges} give way to a summary.`] : []),
    ...(shortened.length > 0 ? [`${shortened.length} results are shortened.`] : []),
    `About ${tokens(tokens_before)} tokens become ${tokens(tokens_after)}.`,
    ...(pinned > 0 ? [`${pinned} pinned messages stay.`] : []),
  ].join(' ')
}
