import { Button } from '@mantine/core'
import { IconPlus, IconUsers } from '@tabler/icons-react'
import { useState } from 'react'
import { Page } from '@/parts/Page'
import { EmptyState } from '@/parts/states'
import { usePeople } from '@/state/people'
import { AddPerson, Everybody } from './Everybody'
import { Teams } from './Teams'
import './people.css'

/** Who works on this installation, in which teams, and what they may use. */
export default function PeoplePage() {
  const several = usePeople((state) => state.several)
  const [adding, setAdding] = useState(false)
  return (
    <Page title="People and teams">
      {several ? (
        <>
          <Everybody />
          <Teams />
        </>
      ) : (
        <EmptyState
          icon={<IconUsers size={24} />}
          title="No people yet"
          action={
            <Button variant="default" leftSection={<IconPlus size={16} />} onClick={() => setAdding(true)}>
              Add a person
            </Button>
          }
        >
          Add people to share this server. Everyone gets a private folder and a link to choose a password.
        </EmptyState>
      )}
      {adding && <AddPerson close={() => setAdding(false)} />}
    </Page>
  )
}
