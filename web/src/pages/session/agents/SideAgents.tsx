import { IconArrowUp } from '@tabler/icons-react'
import { Link } from '@tanstack/react-router'
import type { AgentInfo, SessionInfo } from '@/protocol/types'
import { AgentLine } from './AgentLine'
import { useAgentViews, useTree } from './use-agents'

/** Those that work for this session, and whom it works for; nothing when it is alone. */
export function SideAgents({ info, section }: { info: SessionInfo; section: Section }) {
  const members = useTree(info.id)
  const caller = members.find(({ session }) => session.id === info.parent)?.session
  const below = belowOf(members, info.id)
  const views = useAgentViews(
    info.id,
    below.map(({ session }) => session.id),
    members,
  )
  if (below.length === 0 && !caller) return null
  const atWork = views.filter(({ running }) => running).length
  const own = members.find(({ session }) => session.id === info.id)?.depth ?? 0
  return section({
    title: 'Agents',
    extra: atWork > 0 ? `${atWork} of ${views.length} at work` : String(views.length || ''),
    children: (
      <>
        {caller && (
          <Link to="/sessions/$id" params={{ id: caller.id }} className="agent-caller" title="Back to its caller (b)">
            <IconArrowUp size={14} />
            <span className="cut">works for {caller.name || 'an unnamed session'}</span>
          </Link>
        )}
        <ul className="agent-list" aria-label="Sub-agents of this session">
          {views.map((view, place) => (
            <li key={view.id}>
              <AgentLine agent={view} depth={(below[place]?.depth ?? 0) - own} />
            </li>
          ))}
        </ul>
      </>
    ),
  })
}

type Section = (props: { title: string; extra?: string; children: React.ReactNode }) => React.ReactElement

/** The tree lists a caller before those that work for it, so all below stand right after it. */
export function belowOf(members: AgentInfo[], id: string): AgentInfo[] {
  const at = members.findIndex(({ session }) => session.id === id)
  if (at < 0) return []
  const depth = members[at]?.depth ?? 0
  const after = members.slice(at + 1)
  const end = after.findIndex((one) => (one.depth ?? 0) <= depth)
  return end < 0 ? after : after.slice(0, end)
}
