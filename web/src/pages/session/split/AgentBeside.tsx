import { Select } from '@mantine/core'
import { IconUsersGroup } from '@tabler/icons-react'
import { Link } from '@tanstack/react-router'
import { useCallback, useEffect } from 'react'
import { cost } from '@/lib/format'
import { StatusMark } from '@/parts/StatusMark'
import { EmptyState, ErrorState, LoadingRows } from '@/parts/states'
import type { Conversation } from '@/state/conversation'
import { daemon } from '@/state/daemon'
import { useOverview } from '@/state/overview'
import { belowOf } from '../agents/SideAgents'
import { useTree } from '../agents/use-agents'
import { Asks } from '../asks'
import { Chat } from '../Chat'
import type { Going } from './use-place'

/** The conversation of one of the session's agents, to read along; what it asks can be answered here. */
export function AgentBeside({ conversation, going }: { conversation: Conversation; going: Going }) {
  const { id } = conversation.info
  const agents = belowOf(useTree(id), id)
  const cards = useOverview((state) => state.cards)
  if (agents.length === 0)
    return (
      <EmptyState icon={<IconUsersGroup size={24} />} title="No agents so far">
        When this session hands work to others, their conversations can be read here while it goes on.
      </EmptyState>
    )
  const wanted = going.place.agent
  const shown = agents.find(({ session }) => session.id === wanted) ?? agents.at(-1)
  if (!shown) return null
  const now = cards[shown.session.id]?.info ?? shown.session
  return (
    <>
      <div className="beside-agent">
        <StatusMark status={now.status} />
        <Select
          size="xs"
          aria-label="Agent"
          allowDeselect={false}
          data={agents.map(({ session }) => ({
            value: session.id,
            label: cards[session.id]?.info.name || session.name || 'Unnamed',
          }))}
          value={shown.session.id}
          onChange={(chosen) => chosen && going.toBeside('agent', { agent: chosen })}
        />
        <span className="mono dim">{cost(shown.tree_cost_usd ?? 0, shown.tree_unpriced ?? 0)}</span>
        <Link to="/sessions/$id" params={{ id: shown.session.id }} className="beside-agent-open">
          Open it
        </Link>
      </div>
      <Following key={shown.session.id} id={shown.session.id} quiet={conversation.permissions.length > 0} />
    </>
  )
}

/** `quiet`: the session itself asks something; its keys are its own. */
function Following({ id, quiet }: { id: string; quiet: boolean }) {
  const useSession = daemon.session(id)
  const conversation = useSession((state) => state.conversation)
  const problem = useSession((state) => state.problem)
  useEffect(() => daemon.look(id), [id])
  const nothing = useCallback(() => {}, [])
  if (problem) return <ErrorState problem={problem} />
  if (!conversation) return <LoadingRows count={6} height={14} />
  return (
    <div className="beside-chat">
      <Chat conversation={conversation} rewind={nothing} at={undefined} />
      {!quiet && <Asks conversation={conversation} />}
    </div>
  )
}
