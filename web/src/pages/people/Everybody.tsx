import { ActionIcon, Button, Select, TextInput } from '@mantine/core'
import { IconLink, IconPlus, IconTrash } from '@tabler/icons-react'
import { useState } from 'react'
import { act, useAsk } from '@/lib/ask'
import { exactTime } from '@/lib/format'
import { useRenew } from '@/lib/live'
import { Ago } from '@/parts/Ago'
import { Avatar } from '@/parts/Avatar'
import { CopyButton } from '@/parts/CodeBlock'
import { Confirm } from '@/parts/Confirm'
import { Dialog } from '@/parts/Dialog'
import { Form } from '@/parts/Form'
import { Chip, Filter, Quiet, Row, Rows, Section } from '@/parts/Listing'
import { ErrorState, LoadingRows } from '@/parts/states'
import { Tip } from '@/parts/Tip'
import { WithCode } from '@/parts/WithCode'
import type { Invited, PersonInfo } from '@/protocol/types'
import { daemon } from '@/state/daemon'
import { calledBy, usePeople } from '@/state/people'
import { LimitFields, limitWords, useLimits } from './limits'

type Role = NonNullable<PersonInfo['role']>

const ROLES: { value: Role; label: string }[] = [
  { value: 'admin', label: 'admin: everything, everywhere' },
  { value: 'member', label: 'member: works in their folders' },
  { value: 'viewer', label: 'viewer: looks, and changes nothing' },
]
/** From so many on, a list is searched. */
const MANY = 8

export function Everybody() {
  const found = useAsk('people.list', {})
  const [adding, setAdding] = useState(false)
  const [query, setQuery] = useState('')
  const everybody = found.data?.people ?? []
  const wanted = query.trim().toLowerCase()
  const shown = everybody.filter(({ name = '', email, teams = [] }) =>
    [name, email, ...teams].join(' ').toLowerCase().includes(wanted),
  )
  const add = (
    <Button size="xs" variant="default" leftSection={<IconPlus size={16} />} onClick={() => setAdding(true)}>
      Add a person
    </Button>
  )
  return (
    <Section
      title="People"
      about="Everybody has a folder of their own, and their sessions are private until they share them."
      actions={
        everybody.length > 0 && (
          <>
            {everybody.length >= MANY && <Filter label="Filter people" value={query} change={setQuery} />}
            {add}
          </>
        )
      }
    >
      {found.isPending ? (
        <LoadingRows count={3} height={52} />
      ) : found.error ? (
        <ErrorState problem={found.error} retry={() => void found.refetch()} />
      ) : everybody.length === 0 ? (
        <Quiet action={add}>No people yet. Add people to share this server.</Quiet>
      ) : shown.length === 0 ? (
        <Quiet>Nobody is called that.</Quiet>
      ) : (
        <Rows label="People">
          {shown.map((person) => (
            <PersonRow key={person.id} person={person} />
          ))}
        </Rows>
      )}
      {adding && <AddPerson close={() => setAdding(false)} />}
    </Section>
  )
}

function PersonRow({ person }: { person: PersonInfo }) {
  const renew = useRenew('people.list', 'teams.list')
  const me = usePeople((state) => state.person?.id)
  const [invited, setInvited] = useState<Invited | null>(null)
  const [changing, setChanging] = useState(false)
  const [suspending, setSuspending] = useState(false)
  const [removing, setRemoving] = useState(false)
  const name = calledBy(person)
  const suspend = async (disabled: boolean) => {
    await act('people.update', { person: person.id, disabled })
    await renew()
  }
  const isMe = person.id === me
  return (
    <Row
      name={
        <span className="people-name">
          <Avatar who={person} />
          {name}
        </span>
      }
      chips={
        <>
          <Chip tone={person.role === 'admin' ? 'accent' : 'plain'}>{person.role ?? 'member'}</Chip>
          {person.disabled && <Chip tone="bad">suspended</Chip>}
          {person.teams?.map((team) => (
            <Chip key={team} title={`In the team ${team}`}>
              {team}
            </Chip>
          ))}
          {isMe && <Chip>you</Chip>}
        </>
      }
      about={[person.name && person.email, limitWords(person.limits)].filter(Boolean).join(' · ')}
      figures={
        <span>
          {person.last_login_at ? (
            <>
              logged in <Ago at={person.last_login_at} />
            </>
          ) : person.invited_until ? (
            person.invited_until * 1000 > Date.now() ? (
              'invited'
            ) : (
              'invitation expired'
            )
          ) : (
            'never logged in'
          )}
        </span>
      }
      actions={
        <>
          <Button size="compact-sm" variant="default" aria-label={`Change ${name}`} onClick={() => setChanging(true)}>
            Change
          </Button>
          {!person.disabled && (
            <Tip label={person.password ? 'New password link' : 'Invitation link'}>
              <ActionIcon
                variant="subtle"
                color="gray"
                aria-label={`Invite ${name}`}
                onClick={() =>
                  void act('people.invite', { person: person.email }).then((made) => made && setInvited(made))
                }
              >
                <IconLink size={16} />
              </ActionIcon>
            </Tip>
          )}
          {person.disabled ? (
            <Button
              size="compact-sm"
              variant="default"
              aria-label={`Let ${name} in again`}
              onClick={() => void suspend(false)}
            >
              Let in again
            </Button>
          ) : (
            <Button
              size="compact-sm"
              variant="default"
              aria-label={`Suspend ${name}`}
              disabled={isMe}
              onClick={() => setSuspending(true)}
            >
              Suspend
            </Button>
          )}
          <Tip label="Remove" side="end">
            <ActionIcon
              variant="subtle"
              color="gray"
              aria-label={`Remove ${name}`}
              disabled={isMe}
              onClick={() => setRemoving(true)}
            >
              <IconTrash size={16} />
            </ActionIcon>
          </Tip>
        </>
      }
    >
      {invited && (
        <InvitationDialog
          invited={invited}
          close={() => {
            setInvited(null)
            void renew()
          }}
        />
      )}
      {changing && <ChangePerson person={person} isMe={isMe} close={() => setChanging(false)} />}
      <Confirm
        opened={suspending}
        close={() => setSuspending(false)}
        title={`Suspend ${name}?`}
        action="Suspend"
        run={() => suspend(true)}
      >
        They are let in no longer, and whoever is connected as them is cut off at once. Their folder and sessions stay.
      </Confirm>
      <Confirm
        opened={removing}
        close={() => setRemoving(false)}
        title={`Remove ${name}?`}
        action="Remove"
        run={async () => {
          await act('people.remove', { person: person.email })
          await Promise.all([renew(), daemon.askWhoIsHere()])
        }}
      >
        They are signed out at once, and their tokens and keys are deleted. Their sessions and folder stay under their
        name. Adding the same address later creates a new person.
      </Confirm>
    </Row>
  )
}

function RoleField(props: { value: Role; change: (role: Role) => void; disabled?: boolean }) {
  return (
    <Select
      label="Role"
      description={props.disabled ? 'Another admin changes yours.' : undefined}
      data={ROLES}
      value={props.value}
      onChange={(role) => props.change((role ?? props.value) as Role)}
      allowDeselect={false}
      disabled={props.disabled}
    />
  )
}

export function AddPerson({ close }: { close: () => void }) {
  const renew = useRenew('people.list')
  const [invited, setInvited] = useState<Invited | null>(null)
  const [email, setEmail] = useState('')
  const [name, setName] = useState('')
  const [role, setRole] = useState<Role>('member')
  const add = async () => {
    setInvited(await daemon.request('people.add', { email: email.trim(), name: name.trim(), role }))
  }
  const leave = () => {
    void Promise.all([renew(), daemon.askWhoIsHere()])
    close()
  }
  if (invited) return <InvitationDialog invited={invited} close={leave} />
  return (
    <Dialog onClose={close} title="Add a person" closeOnClickOutside={false}>
      <Form work={add} action="Add" ready={email.trim() !== ''} leave={close}>
        <TextInput
          label="Address"
          description="No email is sent. You get a link to pass on."
          placeholder="ann@example.com"
          type="email"
          value={email}
          onChange={(event) => setEmail(event.currentTarget.value)}
          required
          data-autofocus
        />
        <TextInput label="Name" value={name} onChange={(event) => setName(event.currentTarget.value)} />
        <RoleField value={role} change={setRole} />
      </Form>
    </Dialog>
  )
}

function InvitationDialog({ invited, close }: { invited: Invited; close: () => void }) {
  if (!invited.link)
    return (
      <Dialog onClose={close} title={`${calledBy(invited)} can sign in`}>
        <p>{invited.note} No email is sent, so tell them where to sign in.</p>
      </Dialog>
    )
  const told = new URL(invited.link)
  // Without the setting people.url the daemon does not know its https:// address, but this page may have come by it.
  const link = told.protocol === 'https:' ? invited.link : location.origin + told.pathname + told.hash
  return (
    <Dialog onClose={close} title={`Invitation for ${calledBy(invited)}`} closeOnClickOutside={false}>
      <p>
        Send them this link. It works once, until {exactTime(invited.invited_until ?? 0)}, and is not shown again.{' '}
        {invited.password
          ? 'They choose a new password there, which signs them out everywhere else and revokes their tokens.'
          : 'They choose a password there.'}
      </p>
      <TextInput
        label="The link"
        value={link}
        classNames={{ input: 'mono' }}
        onFocus={(event) => event.currentTarget.select()}
        rightSection={<CopyButton text={link} />}
        readOnly
        data-autofocus
      />
      {!link.startsWith('https:') && (
        <p className="dim">
          <WithCode text={invited.note ?? ''} />
        </p>
      )}
    </Dialog>
  )
}

function ChangePerson({ person, isMe, close }: { person: PersonInfo; isMe: boolean; close: () => void }) {
  const renew = useRenew('people.list')
  const [role, setRole] = useState<Role>(person.role ?? 'member')
  const limits = useLimits(person.limits)
  const change = async () => {
    const changed = role === (person.role ?? 'member') ? {} : { role }
    await daemon.request('people.update', { person: person.id, limits: limits.value, ...changed })
    await renew()
    close()
  }
  return (
    <Dialog onClose={close} title={calledBy(person)} closeOnClickOutside={false}>
      <Form work={change} action="Save" ready leave={close}>
        <RoleField value={role} change={setRole} disabled={isMe} />
        <LimitFields limits={limits} />
        <p className="dim people-folder">
          Their folder: <span className="mono">{person.folder}</span>
        </p>
      </Form>
    </Dialog>
  )
}
