import { ActionIcon, Button, MultiSelect, TextInput } from '@mantine/core'
import { IconPlus, IconTrash } from '@tabler/icons-react'
import { useState } from 'react'
import { act, useAsk } from '@/lib/ask'
import { useRenew } from '@/lib/live'
import { Confirm } from '@/parts/Confirm'
import { Dialog } from '@/parts/Dialog'
import { Form } from '@/parts/Form'
import { Quiet, Row, Rows, Section } from '@/parts/Listing'
import { ErrorState, LoadingRows } from '@/parts/states'
import { Tip } from '@/parts/Tip'
import type { TeamInfo } from '@/protocol/types'
import { daemon } from '@/state/daemon'
import { LimitFields, limitWords, useLimits } from './limits'

export function Teams() {
  const found = useAsk('teams.list', {})
  const [creating, setCreating] = useState(false)
  const teams = found.data?.teams ?? []
  const create = (
    <Button size="xs" variant="default" leftSection={<IconPlus size={16} />} onClick={() => setCreating(true)}>
      New team
    </Button>
  )
  return (
    <Section
      title="Teams"
      about="A team has a folder that its members share, and sessions that one of them shares with it."
      actions={teams.length > 0 && create}
    >
      {found.isPending ? (
        <LoadingRows count={2} height={52} />
      ) : found.error ? (
        <ErrorState problem={found.error} retry={() => void found.refetch()} />
      ) : teams.length === 0 ? (
        <Quiet action={create}>There are no teams. In one, people work in the same folder and share sessions.</Quiet>
      ) : (
        <Rows label="Teams">
          {teams.map((team) => (
            <TeamRow key={team.id} team={team} />
          ))}
        </Rows>
      )}
      {creating && <CreateTeam close={() => setCreating(false)} />}
    </Section>
  )
}

function useRenewed() {
  const renew = useRenew('teams.list', 'people.list')
  return () => Promise.all([renew(), daemon.askWhoIsHere()])
}

function TeamRow({ team }: { team: TeamInfo }) {
  const renewed = useRenewed()
  const [changing, setChanging] = useState(false)
  const [removing, setRemoving] = useState(false)
  const limited = limitWords(team.limits)
  return (
    <Row
      name={team.name}
      about={`${team.members?.join(', ') || 'Nobody is in it'}${limited && ` · ${limited}`}`}
      actions={
        <>
          <Button
            size="compact-sm"
            variant="default"
            aria-label={`Change ${team.name}`}
            onClick={() => setChanging(true)}
          >
            Change
          </Button>
          <Tip label="Dissolve" side="end">
            <ActionIcon
              variant="subtle"
              color="gray"
              aria-label={`Dissolve ${team.name}`}
              onClick={() => setRemoving(true)}
            >
              <IconTrash size={16} />
            </ActionIcon>
          </Tip>
        </>
      }
    >
      {changing && <ChangeTeam team={team} close={() => setChanging(false)} />}
      <Confirm
        opened={removing}
        close={() => setRemoving(false)}
        title={`Dissolve ${team.name}?`}
        action="Dissolve"
        run={async () => {
          await act('teams.remove', { team: team.id })
          await renewed()
        }}
      >
        What was shared with it is its owners’ alone again. Its folder stays.
      </Confirm>
    </Row>
  )
}

function CreateTeam({ close }: { close: () => void }) {
  const renewed = useRenewed()
  const [name, setName] = useState('')
  const create = async () => {
    await daemon.request('teams.create', { name: name.trim() })
    await renewed()
    close()
  }
  return (
    <Dialog onClose={close} title="New team" closeOnClickOutside={false}>
      <Form work={create} action="Create" ready={name.trim() !== ''} leave={close}>
        <TextInput
          label="Name"
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
          required
          data-autofocus
        />
      </Form>
    </Dialog>
  )
}

function ChangeTeam({ team, close }: { team: TeamInfo; close: () => void }) {
  const renewed = useRenewed()
  const people = useAsk('people.list', {})
  const before = team.members ?? []
  const [members, setMembers] = useState(before)
  const limits = useLimits(team.limits)
  const change = async () => {
    const add = members.filter((email) => !before.includes(email))
    const remove = before.filter((email) => !members.includes(email))
    await daemon.request('teams.update', { team: team.id, add, remove, limits: limits.value })
    await renewed()
    close()
  }
  return (
    <Dialog onClose={close} title={team.name} closeOnClickOutside={false}>
      <Form work={change} action="Save" ready leave={close}>
        <MultiSelect
          label="Members"
          description="Who comes or leaves is connected anew, with what they may see then."
          data={(people.data?.people ?? []).map(({ email, name }) => ({
            value: email,
            label: name ? `${name} (${email})` : email,
          }))}
          value={members}
          onChange={setMembers}
          searchable
          hidePickedOptions
          nothingFoundMessage="Nobody is called that."
        />
        <LimitFields limits={limits} />
        <p className="dim people-folder">
          Its folder: <span className="mono">{team.folder}</span>
        </p>
      </Form>
    </Dialog>
  )
}
