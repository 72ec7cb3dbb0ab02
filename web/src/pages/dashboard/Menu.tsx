import { Menu as Choices } from '@mantine/core'
import { IconFileImport } from '@tabler/icons-react'
import { useOpenAtOnce } from '@/parts/Demand'
import { useShell } from '@/shell/shell-state'
import { MenuTrigger } from './MenuTrigger'

/** What is seldom done with all sessions. */
export default function Menu() {
  const { opened, setOpened, button } = useOpenAtOnce()
  return (
    <Choices opened={opened} onChange={setOpened} position="bottom-end" width={220}>
      <Choices.Target>
        <MenuTrigger ref={button} />
      </Choices.Target>
      <Choices.Dropdown>
        <Choices.Item leftSection={<IconFileImport size={16} />} onClick={() => useShell.setState({ importing: true })}>
          Import a session …
        </Choices.Item>
      </Choices.Dropdown>
    </Choices>
  )
}
