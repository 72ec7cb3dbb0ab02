import { Button } from '@mantine/core'
import { IconArrowBackUp, IconArrowsMinimize } from '@tabler/icons-react'
import { useState } from 'react'
import { act, useAsk } from '@/lib/ask'
import { modelName, tokens } from '@/lib/format'
import { useLive, useRenew } from '@/lib/live'
import { Ago } from '@/parts/Ago'
import { Dialog } from '@/parts/Dialog'
import { Chip } from '@/parts/Listing'
import { ErrorState, LoadingRows } from '@/parts/states'
import type { CollectionInfo, ContextReport, SessionInfo } from '@/protocol/types'
import { Compact } from './Compact'
import { Messages } from './Messages'
import { share, toneOf } from './share'
import './context.css'

/** What the model is shown, and what takes how much of it; what is kept, shrunk and brought back. */
export default function Context({ info, close }: { info: SessionInfo; close: () => void }) {
  useLive(['turn.completed', 'context.collected', 'context.restored', 'message.added'], 'context.show')
  const shown = useAsk('context.show', { session: info.id })
  return (
    <Dialog onClose={close} title="Context" size="xl">
      {shown.isPending ? (
        <LoadingRows count={6} />
      ) : shown.error ? (
        <ErrorState problem={shown.error} retry={() => void shown.refetch()} />
      ) : (
        <Shown report={shown.data} />
      )}
    </Dialog>
  )
}

function Shown({ report }: { report: ContextReport }) {
  const [compacting, setCompacting] = useState(false)
  const { used_tokens: used, window } = report
  return (
    <div className="context">
      <div className="context-head">
        <p>
          <span className="mono context-used">{tokens(used)}</span>
          {window > 0 ? (
            <>
              {' '}
              of {tokens(window)} tokens, <span className="mono">{share(used, window)}</span>
            </>
          ) : (
            ' tokens; the window of the model is not known'
          )}
          <span className="dim">
            {' '}
            · {modelName(report.model) || 'no model'}
            {report.estimated ? ' · estimated' : ''}
            {(report.cached_tokens ?? 0) > 0 ? ` · ${tokens(report.cached_tokens ?? 0)} read from the cache` : ''}
          </span>
        </p>
        <Button
          size="compact-sm"
          variant="default"
          leftSection={<IconArrowsMinimize size={14} />}
          aria-expanded={compacting}
          onClick={() => setCompacting(!compacting)}
        >
          Compact …
        </Button>
      </div>
      {compacting && <Compact report={report} done={() => setCompacting(false)} />}
      <Sections report={report} />
      <Collections report={report} />
      <Messages session={report.session} messages={report.messages ?? []} />
    </div>
  )
}

/** A bar of the window, and the same in figures. */
function Sections({ report }: { report: ContextReport }) {
  const sections = (report.sections ?? []).filter((one) => one.tokens > 0)
  const whole = Math.max(report.window, report.used_tokens, 1)
  return (
    <section aria-label="What takes how much">
      <div className="context-bar" aria-hidden>
        {sections.map((one, at) => (
          <span key={one.name} className={toneOf(at)} style={{ width: `${(100 * one.tokens) / whole}%` }} />
        ))}
        {report.window > 0 && <span className="context-mark" style={{ left: `${report.threshold}%` }} />}
      </div>
      <ul className="context-sections">
        {sections.map((one, at) => (
          <li key={one.name}>
            <span className={`context-key ${toneOf(at)}`} aria-hidden />
            <span className="cut">{one.name}</span>
            <span className="dim">{(one.items ?? 0) > 0 ? one.items : ''}</span>
            <span className="mono">{tokens(one.tokens)}</span>
            <span className="mono dim">{share(one.tokens, whole)}</span>
          </li>
        ))}
      </ul>
      {report.window > 0 && (
        <p className="dim context-note">
          At {report.threshold} % it is shrunk by itself ({report.collector}). Nothing is lost: what went can be brought
          back.
        </p>
      )}
    </section>
  )
}

function Collections({ report }: { report: ContextReport }) {
  const renew = useRenew('context.show')
  const collections = [...(report.collections ?? [])].reverse()
  if (collections.length === 0) return null
  const restore = async ({ id }: CollectionInfo) => {
    await act('context.restore', { session: report.session, collection: id })
    await renew()
  }
  return (
    <section>
      <h3 className="context-title">What was shrunk</h3>
      <ul className="context-collections" aria-label="What was shrunk">
        {collections.map((one) => (
          <li key={one.id}>
            <Ago at={one.at} />
            <span className="context-what">
              {one.collector}: {wordsFor(one)}
              {one.summary && <span className="dim context-summary">{one.summary}</span>}
            </span>
            {one.holds === false ? (
              <Chip>brought back</Chip>
            ) : (
              <Button
                size="compact-xs"
                variant="default"
                leftSection={<IconArrowBackUp size={12} />}
                onClick={() => void restore(one)}
              >
                Bring back
              </Button>
            )}
          </li>
        ))}
      </ul>
    </section>
  )
}

function wordsFor({ messages = 0, shortened = 0, tokens_freed: freed = 0 }: CollectionInfo): string {
  const parts = [
    ...(messages > 0 ? [`${messages} messages went`] : []),
    ...(shortened > 0 ? [`${shortened} shortened`] : []),
    `${tokens(freed)} tokens freed`,
  ]
  return parts.join(', ')
}
