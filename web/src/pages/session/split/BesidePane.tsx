import { ActionIcon, Skeleton } from '@mantine/core'
import { IconArrowsDiagonal, IconX } from '@tabler/icons-react'
import { Suspense } from 'react'
import { later } from '@/lib/later'
import { Tip } from '@/parts/Tip'
import type { Conversation } from '@/state/conversation'
import { AgentBeside } from './AgentBeside'
import { BESIDE, type Beside } from './place'
import type { Going } from './use-place'

const ReviewTab = later(() => import('../review'))
const FilesTab = later(() => import('../FilesTab'))
const TerminalTab = later(() => import('../TerminalTab'))

const WORDS: Record<Beside, string> = { review: 'review', files: 'files', terminal: 'terminal', agent: 'agents' }

interface Props {
  conversation: Conversation
  going: Going
  rewind: (turn: number) => void
}

/** What stands beside the conversation, and the choice of it. */
export default function BesidePane({ conversation, going, rewind }: Props) {
  const { info } = conversation
  const shown = going.place.beside ?? 'files'
  const widen = () => {
    if (shown !== 'agent') going.toTab(shown)
  }
  return (
    <section className="beside" aria-label="Beside the conversation" id="beside" tabIndex={-1}>
      <header className="beside-head">
        <div role="tablist" aria-label="Beside the conversation" className="beside-tabs">
          {BESIDE.map((name) => (
            <button
              key={name}
              type="button"
              role="tab"
              aria-selected={name === shown}
              className="session-tab"
              onClick={() => going.toBeside(name)}
            >
              {WORDS[name]}
            </button>
          ))}
        </div>
        {shown !== 'agent' && (
          <Tip label="The whole width">
            <ActionIcon size="sm" variant="subtle" color="gray" aria-label="The whole width" onClick={widen}>
              <IconArrowsDiagonal size={15} />
            </ActionIcon>
          </Tip>
        )}
        <Tip label="Close what is beside">
          <ActionIcon
            size="sm"
            variant="subtle"
            color="gray"
            aria-label="Close what is beside"
            onClick={going.closeBeside}
          >
            <IconX size={15} />
          </ActionIcon>
        </Tip>
      </header>
      <Suspense fallback={<Skeleton className="session-tab-loading" />}>
        {shown === 'review' && <ReviewTab conversation={conversation} rewind={rewind} />}
        {shown === 'files' && <FilesTab info={info} going={going} />}
        {shown === 'terminal' && <TerminalTab info={info} />}
        {shown === 'agent' && <AgentBeside conversation={conversation} going={going} />}
      </Suspense>
    </section>
  )
}
