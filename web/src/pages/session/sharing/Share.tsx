import { Button, Select, TextInput } from '@mantine/core'
import { useState } from 'react'
import { act, useAsk } from '@/lib/ask'
import { exactTime } from '@/lib/format'
import { useRenew } from '@/lib/live'
import { Avatar } from '@/parts/Avatar'
import { Choice } from '@/parts/Choice'
import { CopyButton } from '@/parts/CodeBlock'
import { Dialog } from '@/parts/Dialog'
import { ErrorState, LoadingRows } from '@/parts/states'
import type { AccessTold, PersonName, SessionInfo } from '@/protocol/types'
import { calledBy, usePeople } from '@/state/people'

const DAY = 86_400
const LASTS = [
  { value: String(DAY), label: 'for a day' },
  { value: String(7 * DAY), label: 'for a week' },
  { value: String(30 * DAY), label: 'for 30 days' },
]

/** Who may open a session; its owner changes that here. */
export default function Share({ info, close }: { info: SessionInfo; close: () => void }) {
  const access = useAsk('session.access', { session: info.id })
  return (
    <Dialog onClose={close} title="Who may open this session">
      {access.isPending ? (
        <LoadingRows count={3} />
      ) : access.error ? (
        <ErrorState problem={access.error} retry={() => void access.refetch()} />
      ) : (
        <>
          {access.data.shares ? (
            <>
              <Team info={info} access={access.data} />
              <Links info={info} access={access.data} />
            </>
          ) : (
            <section className="share-part">
              <p>
                {access.data.owner ? calledBy(access.data.owner) : 'The server’s owner'} shares it with you. Only they
                and admins change that.
              </p>
            </section>
          )}
          <Who access={access.data} />
        </>
      )}
    </Dialog>
  )
}

interface Props {
  info: SessionInfo
  access: AccessTold
}

function Team({ info, access }: Props) {
  const { teams = [] } = usePeople()
  const renew = useRenew('session.access')
  const share = async (team: string) => {
    await act('session.share', { session: info.id, team })
    await renew()
  }
  return (
    <section className="share-part">
      <h3>Team</h3>
      {teams.length === 0 ? (
        <p>You are in no team. An admin puts people into teams.</p>
      ) : (
        <Select
          aria-label="Team that may work in it"
          data={[
            { value: '', label: 'No team: private' },
            ...teams.map(({ id, name }) => ({ value: id, label: name })),
          ]}
          value={access.team?.id ?? ''}
          onChange={(team) => void share(team ?? '')}
          allowDeselect={false}
          data-autofocus
        />
      )}
    </section>
  )
}

function Links({ info, access }: Props) {
  const renew = useRenew('session.access')
  const [may, setMay] = useState<'read' | 'write'>('read')
  const [lasts, setLasts] = useState(String(7 * DAY))
  const [link, setLink] = useState('')
  const [busy, setBusy] = useState(false)
  const doing = async (work: () => Promise<unknown>) => {
    setBusy(true)
    await work()
    await renew()
    setBusy(false)
  }
  const make = async () => {
    const shared = await act('session.share', { session: info.id, link: may, expires_in: Number(lasts) })
    if (shared) setLink(`${location.origin}/join#${shared.link}`)
  }
  const takeBack = async () => {
    if (await act('session.share', { session: info.id, unlink: true })) setLink('')
  }
  const { links = [], guests = [] } = access
  const last = Math.max(...[...links, ...guests].map(({ expires_at }) => expires_at))
  return (
    <section className="share-part">
      <h3>Link</h3>
      <p>Whoever has it and an account here may open the session.</p>
      <div className="share-link">
        <Choice
          label="What the link allows"
          value={may}
          choose={setMay}
          choices={[
            { value: 'read', label: 'to read' },
            { value: 'write', label: 'to work' },
          ]}
        />
        <Select
          aria-label="How long the link works"
          size="xs"
          w={130}
          data={LASTS}
          value={lasts}
          onChange={(value) => setLasts(value ?? lasts)}
          allowDeselect={false}
        />
        <Button size="xs" variant="default" loading={busy} onClick={() => void doing(make)}>
          Make a link
        </Button>
      </div>
      {link && (
        <TextInput
          className="share-given"
          label="The link"
          description="Shown this once: copy it now."
          readOnly
          value={link}
          classNames={{ input: 'mono' }}
          onFocus={(event) => event.currentTarget.select()}
          rightSection={<CopyButton text={link} />}
        />
      )}
      {links.length + guests.length > 0 && (
        <div className="share-link share-given">
          <span className="dim">
            {links.length === 1 ? 'One link opens' : `${links.length} links open`} it, until {exactTime(last)}.
          </span>
          <Button size="compact-xs" variant="default" color="red" loading={busy} onClick={() => void doing(takeBack)}>
            Take back
          </Button>
        </div>
      )}
    </section>
  )
}

function Who({ access }: { access: AccessTold }) {
  const me = usePeople((state) => state.person?.id ?? '')
  const { owner, team, members = [], guests = [], here = [] } = access
  const rows: [PersonName, string][] = [
    ...(owner ? [[owner, 'owner'] as [PersonName, string]] : []),
    ...members.filter(({ id }) => id !== owner?.id).map((who) => [who, team?.name ?? ''] as [PersonName, string]),
    ...guests.map(({ who, writes }) => [who, writes ? 'works, by link' : 'reads, by link'] as [PersonName, string]),
  ]
  return (
    <section className="share-part">
      <h3>Who may now</h3>
      <ul className="share-who" aria-label="Who may open it">
        {rows.map(([who, why]) => (
          <li key={`${who.id} ${why}`}>
            <Avatar who={who} />
            <span className="cut" title={who.email}>
              {calledBy(who)}
              {who.id === me && ' (you)'}
            </span>
            <span className="dim">{here.includes(who.email) ? `${why} · here now` : why}</span>
          </li>
        ))}
      </ul>
      <p className="share-given">Admins may open every session.</p>
    </section>
  )
}
