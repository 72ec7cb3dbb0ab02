import { useAsk } from '@/lib/ask'
import { Section } from '@/parts/Listing'
import { calledBy, usePeople } from '@/state/people'
import { UsageTable } from './UsageTable'

/** Who used how much, for whoever runs an installation of several. */
export function ByPerson() {
  const report = useAsk('report.show', { period: 'month', format: 'json' })
  const { known = [] } = usePeople()
  const rows = report.data?.report.by_person ?? []
  if (rows.length === 0) return null
  const nameOf = (key: string) => {
    const found = known.find(({ email }) => email === key)
    return found ? calledBy(found) : key
  }
  return (
    <Section title="By person, this month" about="By who sent the message, whosever session it was.">
      <UsageTable label="Usage by person" by="person" rows={rows} nameOf={nameOf} />
    </Section>
  )
}
