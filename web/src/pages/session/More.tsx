import { Menu } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useNavigate } from '@tanstack/react-router'
import { act, tellProblem } from '@/lib/ask'
import { useOpenAtOnce } from '@/parts/Demand'
import { chooseProject } from '@/parts/Project'
import type { SessionInfo } from '@/protocol/types'
import ConfirmDelete from './ConfirmDelete'
import { toggleThinking, useThinkingShown } from './open-rows'
import { openPanel } from './panels'
import { type Form, takeAway } from './take-away'
import { MoreTrigger } from './triggers'

const CODE: string = '/code'

/** What is seldom done with a session. */
export default function More({ info, rewind }: { info: SessionInfo; rewind: () => void }) {
  const navigate = useNavigate()
  const thinking = useThinkingShown((state) => state.shown)
  const [deleting, confirm] = useDisclosure()
  const { opened, setOpened, button } = useOpenAtOnce()
  const fork = async () => {
    const made = await act('session.fork', { session: info.id, name: `${info.name || 'session'} (fork)` })
    if (made) void navigate({ to: '/sessions/$id', params: { id: made.id } })
  }
  const take = (form: Form) => takeAway(info, form).catch(tellProblem)
  return (
    <>
      <Menu opened={opened} onChange={setOpened} position="bottom-end" width={220}>
        <Menu.Target>
          <MoreTrigger ref={button} info={info} rewind={rewind} />
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item onClick={() => openPanel('settings')} rightSection={<kbd>,</kbd>}>
            Settings …
          </Menu.Item>
          <Menu.Item onClick={() => openPanel('context')} rightSection={<kbd>x</kbd>}>
            Context …
          </Menu.Item>
          <Menu.Item
            onClick={() => {
              chooseProject(info.cwd)
              void navigate({ to: CODE })
            }}
          >
            Code map of the folder
          </Menu.Item>
          <Menu.Item onClick={toggleThinking} rightSection={<kbd>t</kbd>}>
            {thinking ? 'Fold thinking' : 'Show thinking'}
          </Menu.Item>
          <Menu.Item onClick={rewind} rightSection={<kbd>u</kbd>} disabled={!info.turn_count}>
            Rewind …
          </Menu.Item>
          <Menu.Item onClick={() => void fork()}>Fork</Menu.Item>
          <Menu.Item onClick={() => void navigator.clipboard.writeText(`openagent attach ${info.id}`)}>
            Copy the attach command
          </Menu.Item>
          <Menu.Item onClick={() => void act('session.update', { session: info.id, archived: !info.archived })}>
            {info.archived ? 'Take out of the archive' : 'Archive'}
          </Menu.Item>
          <Menu.Divider />
          <Menu.Label>Take it with you</Menu.Label>
          <Menu.Item onClick={() => void take('md')}>Markdown</Menu.Item>
          <Menu.Item onClick={() => void take('html')}>A page (HTML)</Menu.Item>
          <Menu.Item onClick={() => void take('json')}>All of it (JSON)</Menu.Item>
          <Menu.Divider />
          <Menu.Item className="menu-bad" onClick={confirm.open}>
            Delete …
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      {deleting && <ConfirmDelete info={info} close={confirm.close} />}
    </>
  )
}
