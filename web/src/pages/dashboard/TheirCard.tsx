import { Link } from '@tanstack/react-router'
import { cost, folderName } from '@/lib/format'
import { Ago } from '@/parts/Ago'
import { Chip } from '@/parts/Listing'
import type { SessionInfo } from '@/protocol/types'

/** A session that was had with another agent: whose it was, where, and what it cost there. */
export function TheirCard({ info }: { info: SessionInfo }) {
  const { origin, message_count: messages = 0 } = info
  const name = info.name || 'Unnamed session'
  const used = origin?.usage
  return (
    <li className="card card-theirs panel">
      <div className="card-head">
        <Link to="/sessions/$id" params={{ id: info.id }} className="card-name cut" title={name}>
          {name}
        </Link>
        <span className="dim card-age">
          <Ago at={info.updated_at} />
        </span>
      </div>
      <div className="card-place cut dim" title={info.cwd}>
        {folderName(info.cwd)} · {messages} messages
      </div>
      <div className="card-foot">
        {origin && <Chip title={origin.path}>{origin.title}</Chip>}
        <span className="mono card-cost">{used?.requests ? cost(used.cost_usd ?? 0, used.unpriced ?? 0) : '–'}</span>
      </div>
    </li>
  )
}
