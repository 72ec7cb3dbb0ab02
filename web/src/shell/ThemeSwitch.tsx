import { ActionIcon, type MantineColorScheme, useMantineColorScheme } from '@mantine/core'
import { IconDeviceDesktop, IconMoon, IconSun } from '@tabler/icons-react'
import { Tip } from '@/parts/Tip'

const NEXT: Record<MantineColorScheme, MantineColorScheme> = { auto: 'light', light: 'dark', dark: 'auto' }
const NAMES: Record<MantineColorScheme, string> = { auto: 'as the system', light: 'light', dark: 'dark' }
const ICONS = { auto: IconDeviceDesktop, light: IconSun, dark: IconMoon }

/** Follows the system until a person chooses. */
export function ThemeSwitch() {
  const { colorScheme, setColorScheme } = useMantineColorScheme()
  const Icon = ICONS[colorScheme]
  const next = NEXT[colorScheme]
  return (
    <Tip label={`Theme: ${NAMES[colorScheme]}`}>
      <ActionIcon
        variant="subtle"
        color="gray"
        aria-label={`Theme: ${NAMES[colorScheme]}. Change to ${NAMES[next]}`}
        onClick={() => setColorScheme(next)}
      >
        <Icon size={18} />
      </ActionIcon>
    </Tip>
  )
}
