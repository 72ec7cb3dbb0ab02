import { Button, Skeleton } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { IconMessage, IconMoodEmpty } from '@tabler/icons-react'
import { Link, useNavigate, useParams } from '@tanstack/react-router'
import { type ComponentProps, Suspense, useCallback, useEffect, useMemo, useState } from 'react'
import { useAsk } from '@/lib/ask'
import { isFlow } from '@/lib/flows'
import { later } from '@/lib/later'
import { useTitle } from '@/lib/title'
import { OpenPath } from '@/parts/paths/PathLink'
import { EmptyState } from '@/parts/states'
import { useInPalette } from '@/shell/palette-state'
import { type Binding, useKeys } from '@/shell/shortcuts'
import { look } from '@/state/attention'
import type { Conversation } from '@/state/conversation'
import { daemon } from '@/state/daemon'
import { useOverview } from '@/state/overview'
import { calledBy, ownerOf, usePeople } from '@/state/people'
import { useAgentKeys } from './agents/keys'
import { Asks } from './asks'
import { Chat } from './Chat'
import { Composer } from './composer/Composer'
import { Doing } from './Doing'
import { Header } from './Header'
import { toggleThinking } from './open-rows'
import { openPanel, showRaw, usePanel, useRaw } from './panels'
import { SessionList } from './SessionList'
import { opened, openQuickly, useQuickOpen } from './split/quick-open-state'
import { Split } from './split/Split'
import { type Going, usePlace } from './split/use-place'
import './session.css'

const Rewind = later(() => import('./Rewind'))
const ReviewTab = later(() => import('./review'))
const FilesTab = later(() => import('./FilesTab'))
const TerminalTab = later(() => import('./TerminalTab'))
const SidePane = later(() => import('./SidePane'))
const Pane = later(() => import('./Pane'))
const FlowRun = later(() => import('./flow/FlowRun'))
const Context = later(() => import('./context/Context'))
const Raw = later(() => import('./raw/Raw'))
const SessionSettings = later(() => import('./settings/SessionSettings'))
const Trust = later(() => import('./Trust'))
const BesidePane = later(() => import('./split/BesidePane'))
const QuickOpen = later(() => import('./split/QuickOpen'))

export default function SessionPage() {
  const { id } = useParams({ from: '/sessions/$id' })
  return <Session key={id} id={id} />
}

function Session({ id }: { id: string }) {
  const useSession = daemon.session(id)
  const conversation = useSession((state) => state.conversation)
  const problem = useSession((state) => state.problem)
  useEffect(() => daemon.look(id), [id])
  useLookedAt(id)
  const name = useOverview(({ cards }) => cards[id]?.info.name)
  useTitle(conversation?.info.name || name || 'Session')
  if (conversation?.deleted) return <Gone />
  if (conversation) return <Open conversation={conversation} />
  return problem ? <Gone why={problem} /> : <Loading />
}

function Open({ conversation }: { conversation: Conversation }) {
  const { info } = conversation
  const going = usePlace(info.id)
  const { tab, narrow, openFile } = going
  const { beside, file, at } = going.place
  const quick = useQuickOpen(({ open }) => open)
  const [leftOpen, left] = useDisclosure()
  const [rightOpen, right] = useDisclosure()
  const [turn, setTurn] = useState<number | null>(null)
  const rewind = useCallback((to: number) => setTurn(to), [])
  const turns = Math.max(1, info.turn_count ?? 1)
  const rewindLast = useCallback(() => setTurn(turns), [turns])
  useInPalette(info, rewindLast)
  const neighbour = useNeighbour(info.id)
  const panel = usePanel((state) => state.open)
  const raw = useRaw((state) => state.number)
  useEffect(
    () => () => {
      openPanel(null)
      showRaw(null)
    },
    [],
  )
  useAgentKeys(info)
  const isSplit = beside !== undefined && !narrow
  useEffect(() => {
    if (file) opened(info.id, file)
  }, [info.id, file])
  const openPath = useMemo(
    () => (path: string, line?: number) => openFile(inside(info.cwd, path), line),
    [info.cwd, openFile],
  )
  useKeys('Session', [
    { keys: 't', what: 'Fold or show thinking', run: toggleThinking },
    ...(info.turn_count ? [{ keys: 'u', what: 'Rewind', run: rewindLast }] : []),
    { keys: 'j', what: 'Next session', run: () => neighbour(1) },
    { keys: 'k', what: 'Previous session', run: () => neighbour(-1) },
    { keys: 'x', what: 'Context', run: () => openPanel('context') },
    { keys: ',', what: 'Settings of the session', run: () => openPanel('settings') },
    { keys: '1', what: 'Chat', run: () => going.toTab('chat') },
    { keys: '2', what: 'Files', run: () => going.toTab('files') },
    { keys: '3', what: 'Terminal', run: () => going.toTab('terminal') },
    { keys: '4', what: 'Review', run: () => going.toTab('review') },
    { keys: 'mod+p', what: 'Open a file by name', run: openQuickly, always: true },
    ...(narrow ? [] : besideKeys(going)),
  ])
  return (
    <OpenPath value={openPath}>
      <div className={isSplit ? 'session session-split' : 'session'}>
        <Header info={info} going={going} openLeft={left.open} openRight={right.open} rewind={rewindLast} />
        <div className="session-body">
          <div className="session-left">
            <SessionList />
          </div>
          {isSplit ? (
            <Split
              session={info.id}
              left={<ChatTab conversation={conversation} rewind={rewind} at={at} />}
              right={
                <Suspense fallback={<Skeleton className="session-tab-loading" />}>
                  <BesidePane conversation={conversation} going={going} rewind={rewind} />
                </Suspense>
              }
            />
          ) : tab === 'chat' ? (
            <ChatTab conversation={conversation} rewind={rewind} at={at} />
          ) : (
            <Suspense fallback={<Skeleton className="session-tab-loading" />}>
              {tab === 'review' && <ReviewTab conversation={conversation} rewind={rewind} />}
              {tab === 'files' && <FilesTab info={info} going={going} />}
              {tab === 'terminal' && <TerminalTab info={info} />}
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
        <Suspense>{quick && <QuickOpen session={info.id} open={openFile} />}</Suspense>
        <Suspense>
          {panel === 'context' && <Context info={info} close={() => openPanel(null)} />}
          {panel === 'settings' && <SessionSettings info={info} close={() => openPanel(null)} />}
          {panel === 'trust' && <Trust cwd={info.cwd} close={() => openPanel(null)} />}
          {raw !== null && <Raw session={info.id} number={raw} close={() => showRaw(null)} />}
          {turn !== null && (
            <Rewind conversation={conversation} turn={turn} choose={setTurn} close={() => setTurn(null)} />
          )}
        </Suspense>
      </div>
    </OpenPath>
  )
}

/** Keys of the side-by-side view. F6 goes to the other side from anywhere, also out of an editor or a shell. */
function besideKeys({ place, toBeside, closeBeside }: Going): Binding[] {
  const toggle = () => (place.beside ? closeBeside() : toBeside(place.tab))
  return [
    { keys: '\\', what: 'Show files, terminal or agents beside', run: toggle },
    ...(place.beside ? [{ keys: 'f6', what: 'To the other side', run: otherSide, always: true }] : []),
  ]
}

function otherSide(): void {
  const beside = document.getElementById('beside')
  const inside = beside?.contains(document.activeElement)
  const there = inside
    ? document.querySelector<HTMLElement>('.session-middle textarea')
    : beside?.querySelector<HTMLElement>('.monaco-editor textarea, .native-edit-context, .xterm textarea, .chat-scroll')
  ;(there ?? beside)?.focus()
}

/** A path as the workspace's files are named: an agent may name them from the machine's root. */
function inside(cwd: string, path: string): string {
  const folder = cwd.endsWith('/') ? cwd : `${cwd}/`
  return (path.startsWith(folder) ? path.slice(folder.length) : path).replace(/^(\.\/)+/, '')
}

/** Whoever another lets read along has nothing to write with. */
function Input(props: ComponentProps<typeof Composer>) {
  const { info } = props.conversation
  const owner = ownerOf(usePeople(), info)
  const access = useAsk('session.access', { session: info.id }, { enabled: owner !== null })
  if (!owner || !access.data || access.data.works) return <Composer {...props} />
  return <p className="reads-along">{calledBy(owner)} shares this session with you to read.</p>
}

function ChatTab({ conversation, rewind, at }: ComponentProps<typeof Chat>) {
  return (
    <>
      <div className="session-middle">
        {isFlow(conversation.info) ? (
          <Suspense fallback={<Skeleton className="session-tab-loading" />}>
            <FlowRun info={conversation.info} />
          </Suspense>
        ) : isUntouched(conversation) ? (
          <EmptyState icon={<IconMessage size={24} />} title="Say what to do">
            The agent works in {conversation.info.cwd}. It reads, edits and runs code there, inside the jail; any turn
            can be undone.
          </EmptyState>
        ) : (
          <Chat conversation={conversation} rewind={rewind} at={at} />
        )}
        <div className="session-bottom">
          <Asks conversation={conversation} />
          {!isFlow(conversation.info) && <Doing conversation={conversation} />}
          {!isFlow(conversation.info) && <Input conversation={conversation} rewind={rewind} />}
        </div>
      </div>
      <aside className="session-right" aria-label="Plan, changes and usage">
        <Suspense>
          <SidePane conversation={conversation} rewind={rewind} />
        </Suspense>
      </aside>
    </>
  )
}

/** What is open in front of the person is no news on the dashboard. */
function useLookedAt(id: string): void {
  const at = useOverview(({ cards }) => cards[id]?.info.updated_at)
  useEffect(() => {
    if (!at) return
    const seen = () => {
      if (document.visibilityState === 'visible') look(id, at)
    }
    seen()
    document.addEventListener('visibilitychange', seen)
    return () => document.removeEventListener('visibilitychange', seen)
  }, [id, at])
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
