import { ActionIcon } from '@mantine/core'
import type { ComponentProps } from 'react'
import { Avatar } from '@/parts/Avatar'
import { onDemand } from '@/parts/Demand'
import type { PersonInfo } from '@/protocol/types'
import { calledBy } from '@/state/people'

export function PersonTrigger({ person, ...props }: { person: PersonInfo } & Omit<ComponentProps<'button'>, 'color'>) {
  const you = `${calledBy(person)}, ${person.role ?? 'member'}`
  return (
    <ActionIcon variant="subtle" color="gray" aria-label={`You: ${you}`} title={you} {...props}>
      <Avatar who={person} />
    </ActionIcon>
  )
}

export const PersonMenu = onDemand<{ person: PersonInfo }>(() => import('./PersonMenu'), PersonTrigger)
