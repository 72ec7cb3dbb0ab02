import { UnstyledButton } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { IconLink, IconLock, IconUsers } from '@tabler/icons-react'
import { Suspense, useEffect } from 'react'
import { useAsk } from '@/lib/ask'
import { later } from '@/lib/later'
import { useLive, useRenew } from '@/lib/live'
import { Avatar } from '@/parts/Avatar'
import { Tip } from '@/parts/Tip'
import type { AccessTold, SessionInfo } from '@/protocol/types'
import { useKeys } from '@/shell/shortcuts'
import { calledBy, ownerOf, usePeople } from '@/state/people'
import './sharing.css'

const Share = later(() => import('./Share'))

/** More than these are counted. */
const SHOWN = 3

/** Who else has the session open, and with whom it is shared. */
export default function Sharing({ info }: { info: SessionInfo }) {
  const access = useAsk('session.access', { session: info.id })
  const [open, dialog] = useDisclosure()
  const renew = useRenew('session.access')
  useLive(['session.presence'], 'session.access')
  // Asked again when it is shared with another team.
  useEffect(() => void renew(), [info.team, renew])
  useKeys('Session', [{ keys: 'S', what: 'Share', run: dialog.open }])
  const owner = ownerOf(usePeople(), info)
  const { icon: Icon, words } = stateOf(access.data, owner ? calledBy(owner) : '')
  return (
    <span className="sharing">
      {access.data && <Here access={access.data} />}
      <UnstyledButton className="sharing-button" title="Who may open it (S)" onClick={dialog.open}>
        <Icon size={14} />
        <span className="cut">{words}</span>
      </UnstyledButton>
      <Suspense>{open && <Share info={info} close={dialog.close} />}</Suspense>
    </span>
  )
}

function stateOf(access: AccessTold | undefined, owner: string) {
  const link = (access?.links?.length ?? 0) + (access?.guests?.length ?? 0) > 0
  const icon = access?.team ? IconUsers : link || owner ? IconLink : IconLock
  if (owner) return { icon, words: `of ${owner}` }
  return { icon, words: access?.team?.name ?? (link ? 'by link' : 'private') }
}

/** The others who look at it now. */
function Here({ access: { owner, members = [], guests = [], here = [] } }: { access: AccessTold }) {
  const { person, known = [] } = usePeople()
  const all = [...(owner ? [owner] : []), ...members, ...guests.map(({ who }) => who), ...known]
  const others = here
    .filter((email) => email !== person?.email)
    .map((email) => all.find((one) => one.email === email) ?? { email })
  if (others.length === 0) return null
  const words = `Here now: ${others.map(calledBy).join(', ')}`
  return (
    <Tip label={words} side="end">
      <span className="here" role="img" aria-label={words}>
        {others.slice(0, SHOWN).map((who) => (
          <Avatar key={who.email} who={who} />
        ))}
        {others.length > SHOWN && <span className="here-more mono">+{others.length - SHOWN}</span>}
      </span>
    </Tip>
  )
}
