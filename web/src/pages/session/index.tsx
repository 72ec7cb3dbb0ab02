import { Button, Skeleton } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { IconMessage, IconMoodEmpty } from '@tabler/icons-react'
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { type ComponentProps, lazy, Suspense, useCallback, useEffect, useState } from 'react'
import { useTitle } from '@/parts/Page'
import { EmptyState } from '@/parts/states'
import { useKeys } from '@/shell/shortcuts'
import type { Conversation } from '@/state/conversation'
import { daemon } from '@/state/daemon'
import { useOverview } from '@/state/overview'
import { Asks } from './Asks'
import { Chat } from './Chat'
import { Composer } from './Composer'
import { Header } from './Header'
import { toggleThinking } from './open-rows'
import { SessionList } from './SessionList'
import { SidePane } from './SidePane'
import './session.css'

const Rewind = lazy(() => import('./Rewind'))
const FilesTab = lazy(() => import('./FilesTab'))
const TerminalTab = lazy(() => import('./TerminalTab'))
const Pane = lazy(() => import('./Pane'))

export default function SessionPage() {
  const { id } = useParams({ from: '/sessions/$id' })
  return <Session key={id} id={id} />
}

function Session({ id }: { id: string }) {
  const useSession = daemon.session(id)
  const conversation = useSession((state) => state.conversation)
  const problem = useSession((state) => state.problem)
  useEffect(() => daemon.look(id), [id])
  const name = useOverview(({ cards }) => cards[id]?.info.name)
  useTitle(conversation?.info.name || name || 'Session')
  if (conversation?.deleted) return <Gone />
  if (conversation) return <Open conversation={conversation} />
  return problem ? <Gone why={problem} /> : <Loading />
}

function Open({ conversation }: { conversation: Conversation }) {
  const { info } = conversation
  const { tab = 'chat', at } = useSearch({ from: '/sessions/$id' })
  const [leftOpen, left] = useDisclosure()
  const [rightOpen, right] = useDisclosure()
  const [turn, setTurn] = useState<number | null>(null)
  const rewind = useCallback((to: number) => setTurn(to), [])
  const rewindLast = () => setTurn(Math.max(1, info.turn_count ?? 1))
  const navigate = useNavigate()
  const neighbour = useNeighbour(info.id)
  const to = (next: 'files' | 'terminal' | undefined) =>
    void navigate({ to: '/sessions/$id', params: { id: info.id }, search: next ? { tab: next } : {} })
  useKeys('Session', [
    { keys: 't', what: 'Fold or show thinking', run: toggleThinking },
    ...(info.turn_count ? [{ keys: 'u', what: 'Rewind', run: rewindLast }] : []),
    { keys: 'j', what: 'Next session', run: () => neighbour(1) },
    { keys: 'k', what: 'Previous session', run: () => neighbour(-1) },
    { keys: '1', what: 'Chat', run: () => to(undefined) },
    { keys: '2', what: 'Files', run: () => to('files') },
    { keys: '3', what: 'Terminal', run: () => to('terminal') },
  ])
  return (
    <div className="session">
      <Header info={info} tab={tab} openLeft={left.open} openRight={right.open} rewind={rewindLast} />
      <div className="session-body">
        <div className="session-left">
          <SessionList />
        </div>
        {tab === 'chat' ? (
          <ChatTab conversation={conversation} rewind={rewind} at={at} />
        ) : (
          <Suspense fallback={<Skeleton className="session-tab-loading" />}>
            {tab === 'files' ? <FilesTab info={info} /> : <TerminalTab info={info} />}
          </Suspense>
        )}
      </div>
      <Suspense>
        {leftOpen && (
          <Pane title="Sessions" side="left" close={left.close}>
            <SessionList close={left.close} />
          </Pane>
        )}
        {rightOpen && (
          <Pane title={info.name || 'Session'} side="right" close={right.close}>
            <SidePane conversation={conversation} rewind={rewind} />
          </Pane>
        )}
      </Suspense>
      <Suspense>
        {turn !== null && (
          <Rewind conversation={conversation} turn={turn} choose={setTurn} close={() => setTurn(null)} />
        )}
      </Suspense>
    </div>
  )
}

function ChatTab({ conversation, rewind, at }: ComponentProps<typeof Chat>) {
  return (
    <>
      <div className="session-middle">
        {isUntouched(conversation) ? (
          <EmptyState icon={<IconMessage size={24} />} title="Say what to do">
            The agent works in {conversation.info.cwd}. It reads, edits and runs code there, inside the jail; any turn
            can be undone.
          </EmptyState>
        ) : (
          <Chat conversation={conversation} rewind={rewind} at={at} />
        )}
        <div className="session-bottom">
          <Asks conversation={conversation} />
          <Composer conversation={conversation} />
        </div>
      </div>
      <aside className="session-right" aria-label="Plan, changes and usage">
        <SidePane conversation={conversation} rewind={rewind} />
      </aside>
    </>
  )
}

function isUntouched({ messages, live, runs, notes }: Conversation): boolean {
  return messages.length === 0 && !live && runs.length === 0 && notes.length === 0
}

function useNeighbour(id: string): (step: number) => void {
  const navigate = useNavigate()
  return (step) => {
    const all = Object.values(useOverview.getState().cards)
      .filter(({ info }) => !info.parent)
      .sort((one, other) => other.info.created_at - one.info.created_at)
    const here = all.findIndex(({ info }) => info.id === id)
    const next = all[(here + step + all.length) % all.length]
    if (next) void navigate({ to: '/sessions/$id', params: { id: next.info.id } })
  }
}

function Gone({ why = 'It was deleted.' }: { why?: string }) {
  return (
    <EmptyState
      icon={<IconMoodEmpty size={24} />}
      title="This session is not here"
      action={
        <Button component={Link} to="/" variant="default">
          To the sessions
        </Button>
      }
    >
      {why}
    </EmptyState>
  )
}

function Loading() {
  return (
    <div className="session-loading" role="status" aria-label="Loading the session">
      <Skeleton height={44} radius={0} />
      {[80, 22, 22, 140, 22, 60].map((height, index) => (
        <Skeleton key={index} height={height} radius="md" className="session-loading-row" />
      ))}
    </div>
  )
}
