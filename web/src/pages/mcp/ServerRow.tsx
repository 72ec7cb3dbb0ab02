import { ActionIcon, Button, Menu, Modal, Switch } from '@mantine/core'
import { IconChevronRight, IconDots, IconLogin2, IconLogout2, IconTrash } from '@tabler/icons-react'
import { useState } from 'react'
import { act, useAsk } from '@/lib/ask'
import { useRenew } from '@/lib/live'
import { Confirm } from '@/parts/Confirm'
import { Chip, Row, type Tone } from '@/parts/Listing'
import { LoginDialog } from '@/parts/LoginDialog'
import { LoadingRows } from '@/parts/states'
import type { McpServerInfo } from '@/protocol/types'
import { daemon } from '@/state/daemon'
import { useOverview } from '@/state/overview'

const TONES: Record<McpServerInfo['status'], Tone> = {
  up: 'good',
  starting: 'accent',
  idle: 'plain',
  disabled: 'plain',
  down: 'warn',
  failed: 'bad',
}

const WORDS: Record<McpServerInfo['status'], string> = {
  up: 'up',
  starting: 'starting',
  idle: 'not started',
  disabled: 'off',
  down: 'down',
  failed: 'failed',
}

const counted = (count: number, word: string) => `${count} ${word}${count === 1 ? '' : 's'}`

export function ServerRow({ server, cwd }: { server: McpServerInfo; cwd: string }) {
  const renew = useRenew('mcp.list', 'tools.list')
  const heard = useOverview((state) => state.mcp[server.name])
  const [open, setOpen] = useState(false)
  const [removing, setRemoving] = useState(false)
  const [loggingIn, setLoggingIn] = useState(false)
  const [busy, setBusy] = useState<'test' | 'switch' | ''>('')
  // What the daemon said last counts until the list says it too.
  const status = busy === 'test' ? 'starting' : server.status === 'idle' && heard ? heard.status : server.status
  const detail = server.detail || (server.status === 'idle' && heard?.detail) || ''
  const tools = server.tools ?? []
  const test = async () => {
    setBusy('test')
    await act('mcp.test', { name: server.name, cwd })
    await renew()
    setBusy('')
  }
  const change = async (on: boolean) => {
    setBusy('switch')
    await act('mcp.switch', { name: server.name, on, cwd })
    await renew()
    setBusy('')
  }
  return (
    <Row
      name={
        <button type="button" className="server-open" aria-expanded={open} onClick={() => setOpen(!open)}>
          <IconChevronRight size={14} className={open ? 'server-arrow-open' : ''} aria-hidden />
          {server.name}
        </button>
      }
      chips={
        <>
          <Chip tone={TONES[status]}>
            <span role="status">{WORDS[status]}</span>
          </Chip>
          <Chip>{server.transport}</Chip>
        </>
      }
      about={
        <span className="server-about">
          {detail && status !== 'up' ? <span className="bad">{detail}</span> : server.description || server.target}
        </span>
      }
      figures={
        server.status === 'up' && (
          <span className="server-counts">
            {[
              counted(tools.length, 'tool'),
              ...(server.resources ? [counted(server.resources, 'resource')] : []),
              ...(server.prompts ? [counted(server.prompts, 'prompt')] : []),
            ].join(' · ')}
          </span>
        )
      }
      actions={
        <>
          <Button
            size="compact-sm"
            variant="default"
            loading={busy === 'test'}
            disabled={server.status === 'disabled'}
            onClick={() => void test()}
          >
            Test<span className="visually-hidden"> {server.name}</span>
          </Button>
          <Menu position="bottom-end">
            <Menu.Target>
              <ActionIcon variant="subtle" color="gray" aria-label={`More about ${server.name}`}>
                <IconDots size={16} />
              </ActionIcon>
            </Menu.Target>
            <Menu.Dropdown>
              {server.transport !== 'stdio' && (
                <>
                  <Menu.Item leftSection={<IconLogin2 size={16} />} onClick={() => setLoggingIn(true)}>
                    Log in
                  </Menu.Item>
                  <Menu.Item
                    leftSection={<IconLogout2 size={16} />}
                    onClick={() => void act('mcp.logout', { name: server.name }).then(renew)}
                  >
                    Forget the login
                  </Menu.Item>
                </>
              )}
              <Menu.Item color="red" leftSection={<IconTrash size={16} />} onClick={() => setRemoving(true)}>
                Remove
              </Menu.Item>
            </Menu.Dropdown>
          </Menu>
          <Switch
            checked={server.status !== 'disabled'}
            disabled={busy === 'switch'}
            aria-label={`${server.name} for all sessions`}
            onChange={(event) => void change(event.currentTarget.checked)}
          />
        </>
      }
    >
      {server.warnings && server.warnings.length > 0 && (
        <ul className="notices server-warnings">
          {server.warnings.map((warning) => (
            <li key={warning}>{warning}</li>
          ))}
        </ul>
      )}
      {open && <Details server={server} cwd={cwd} />}
      <Modal
        opened={loggingIn}
        onClose={() => setLoggingIn(false)}
        title={`Log in to ${server.name}`}
        size="lg"
        centered
        keepMounted={false}
      >
        {loggingIn && (
          <LoginDialog
            begin={() => daemon.request('mcp.login', { name: server.name, cwd })}
            finish={(login, answer) => daemon.request('mcp.login.finish', { login, answer })}
            ended={test}
            done={() => setLoggingIn(false)}
          />
        )}
      </Modal>
      <Confirm
        opened={removing}
        close={() => setRemoving(false)}
        title={`Remove ${server.name}?`}
        action="Remove"
        run={async () => {
          await act('mcp.remove', { name: server.name })
          await renew()
        }}
      >
        Sessions lose its tools with their next turn. To only pause it, switch it off.
      </Confirm>
    </Row>
  )
}

function Details({ server, cwd }: { server: McpServerInfo; cwd: string }) {
  const up = server.status === 'up'
  const resources = useAsk('mcp.resources', { cwd, server: server.name }, { enabled: up && Boolean(server.resources) })
  const prompts = useAsk('mcp.prompts', { cwd, server: server.name }, { enabled: up && Boolean(server.prompts) })
  return (
    <div className="server-details">
      <dl>
        <div>
          <dt>{server.transport === 'stdio' ? 'Command' : 'Address'}</dt>
          <dd className="mono">{server.target}</dd>
        </div>
        {server.source && (
          <div>
            <dt>Stands in</dt>
            <dd className="mono">{server.source}</dd>
          </div>
        )}
        <div>
          <dt>Tools</dt>
          <dd>
            {!up && !server.tools?.length ? (
              <span className="dim">Known once the server has been started: test it.</span>
            ) : (
              <ul className="server-names">
                {server.tools?.map((tool) => (
                  <li key={tool} className="mono">
                    {tool}
                  </li>
                ))}
              </ul>
            )}
          </dd>
        </div>
        {resources.isFetching && <LoadingRows count={1} height={24} />}
        {resources.data && resources.data.resources.length > 0 && (
          <div>
            <dt>Resources</dt>
            <dd>
              <ul className="server-names">
                {resources.data.resources.map((one) => (
                  <li key={one.uri} className="mono" title={one.description}>
                    {one.uri}
                  </li>
                ))}
              </ul>
            </dd>
          </div>
        )}
        {prompts.data && prompts.data.prompts.length > 0 && (
          <div>
            <dt>Prompts</dt>
            <dd>
              <ul className="server-names">
                {prompts.data.prompts.map((one) => (
                  <li key={one.name} className="mono" title={one.description}>
                    /{server.name}:{one.name}
                  </li>
                ))}
              </ul>
            </dd>
          </div>
        )}
      </dl>
    </div>
  )
}
