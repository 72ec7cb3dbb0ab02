import { Menu } from '@mantine/core'
import { act } from '@/lib/ask'
import { MODES, modeWords } from '@/lib/modes'
import { useOpenAtOnce } from '@/parts/Demand'
import type { SessionInfo } from '@/protocol/types'
import { ModeTrigger } from './triggers'

/** How much the agent may do without asking, from the next message on. */
export default function ModeSwitch({ info }: { info: SessionInfo }) {
  const current = info.settings?.mode ?? 'ask'
  const { opened, setOpened, button } = useOpenAtOnce()
  return (
    <Menu opened={opened} onChange={setOpened} position="bottom-start" width={300}>
      <Menu.Target>
        <ModeTrigger ref={button} info={info} />
      </Menu.Target>
      <Menu.Dropdown>
        {MODES.map((mode) => (
          <Menu.Item
            key={mode}
            className={mode === current ? 'chosen' : undefined}
            onClick={() => void act('session.update', { session: info.id, settings: { mode } })}
          >
            <strong>{mode}</strong>
            <div className="dim option-hint">{modeWords[mode]}</div>
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  )
}
