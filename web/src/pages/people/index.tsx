import { IconUsers } from '@tabler/icons-react'
import { Page } from '@/parts/Page'
import { EmptyState } from '@/parts/states'
import { usePeople } from '@/state/people'
import { Everybody } from './Everybody'
import { Teams } from './Teams'
import './people.css'

/** Who works on this installation, in which teams, and what they may use. */
export default function PeoplePage() {
  const several = usePeople((state) => state.several)
  return (
    <Page title="People and teams">
      {several ? (
        <>
          <Everybody />
          <Teams />
        </>
      ) : (
        <EmptyState icon={<IconUsers size={24} />} title="Nobody logs in here">
          You have this machine to yourself. When the setting people.issuer names whom people log in with, they stand
          here.
        </EmptyState>
      )}
    </Page>
  )
}
