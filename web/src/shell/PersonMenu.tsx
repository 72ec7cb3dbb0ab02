import { type MantineColorScheme, Menu, useMantineColorScheme } from '@mantine/core'
import { IconCheck, IconKey, IconLogout, IconPassword, IconUsers } from '@tabler/icons-react'
import { useNavigate } from '@tanstack/react-router'
import { signOut } from '@/lib/sign-out'
import { useOpenAtOnce } from '@/parts/Demand'
import type { PersonInfo } from '@/protocol/types'
import { calledBy, runsIt, usePeople } from '@/state/people'
import { PersonTrigger } from './PersonTrigger'

const THEMES: [MantineColorScheme, string][] = [
  ['auto', 'As the system'],
  ['light', 'Light'],
  ['dark', 'Dark'],
]

/** Who is logged in, and what concerns them alone. */
export default function PersonMenu({ person }: { person: PersonInfo }) {
  const navigate = useNavigate()
  const { colorScheme, setColorScheme } = useMantineColorScheme()
  const runs = usePeople(runsIt)
  const { opened, setOpened, button } = useOpenAtOnce()
  return (
    <Menu opened={opened} onChange={setOpened} position="bottom-end" width={240}>
      <Menu.Target>
        <PersonTrigger ref={button} person={person} />
      </Menu.Target>
      <Menu.Dropdown>
        <div className="person">
          <div className="person-name">{calledBy(person)}</div>
          {person.name && <div className="person-line">{person.email}</div>}
          <div className="person-line">{[person.role ?? 'member', ...(person.teams ?? [])].join(' · ')}</div>
        </div>
        <Menu.Divider />
        {runs && (
          <>
            <Menu.Item leftSection={<IconUsers size={16} />} onClick={() => void navigate({ to: '/people' as string })}>
              People and teams
            </Menu.Item>
            <Menu.Item leftSection={<IconKey size={16} />} onClick={() => void navigate({ to: '/auth' as string })}>
              Tokens and logins
            </Menu.Item>
            <Menu.Divider />
          </>
        )}
        <Menu.Label>Theme</Menu.Label>
        {THEMES.map(([theme, label]) => (
          <Menu.Item
            key={theme}
            role="menuitemradio"
            aria-checked={theme === colorScheme}
            rightSection={theme === colorScheme ? <IconCheck size={14} /> : null}
            onClick={() => setColorScheme(theme)}
            closeMenuOnClick={false}
          >
            {label}
          </Menu.Item>
        ))}
        <Menu.Divider />
        {person.password && (
          <Menu.Item leftSection={<IconPassword size={16} />} component="a" href="/password">
            Change password
          </Menu.Item>
        )}
        <Menu.Item leftSection={<IconLogout size={16} />} onClick={() => void signOut()}>
          Sign out
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  )
}
