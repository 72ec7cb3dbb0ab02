import { ActionIcon, Button, Menu, Switch } from '@mantine/core'
import { IconChevronRight, IconDots, IconLogin2, IconLogout2, IconPencil, IconTrash } from '@tabler/icons-react'
import { useState } from 'react'
import { act, useAsk } from '@/lib/ask'
import { useRenew } from '@/lib/live'
import { Confirm } from '@/parts/Confirm'
import { Modal } from '@/parts/Dialog'
import { Chip, Row, type Tone } from '@/parts/Listing'
import { LoginDialog } from '@/parts/LoginDialog'
import { FillPrompt } from '@/parts/mcp/FillPrompt'
import { commandName } from '@/parts/mcp/prompt-command'
import { ReadResource } from '@/parts/mcp/ReadResource'
import { ErrorState, LoadingRows } from '@/parts/states'
import type { McpPrompt, McpResource, McpServerInfo } from '@/protocol/types'
import { daemon } from '@/state/daemon'
import { useOverview } from '@/state/overview'
import { AddServer } from './AddServer'

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

const ORIGINS = { project: 'from the project', session: 'from a client' } as const

const counted = (count: number, word: string) => `${count} ${word}${count === 1 ? '' : 's'}`

export function ServerRow({ server, cwd }: { server: McpServerInfo; cwd: string }) {
  const renew = useRenew('mcp.list', 'tools.list')
  const heard = useOverview((state) => state.mcp[server.name])
  const [open, setOpen] = useState(false)
  const [removing, setRemoving] = useState(false)
  const [editing, setEditing] = useState(false)
  const [loggingIn, setLoggingIn] = useState(false)
  const [busy, setBusy] = useState<'test' | 'switch' | ''>('')
  // What the daemon said last counts until the list says it too.
  const status = busy === 'test' ? 'starting' : server.status === 'idle' && heard ? heard.status : server.status
  const detail = server.detail || (server.status === 'idle' && heard?.detail) || ''
  const tools = server.tools ?? []
  const isOwn = (server.origin ?? 'yours') === 'yours'
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
          {server.origin && server.origin !== 'yours' && <Chip tone="accent">{ORIGINS[server.origin]}</Chip>}
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
              {isOwn ? (
                <Menu.Item leftSection={<IconPencil size={16} />} onClick={() => setEditing(true)}>
                  Edit
                </Menu.Item>
              ) : (
                <Menu.Label className="server-elsewhere">{whereChanged(server)}</Menu.Label>
              )}
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
              {isOwn && (
                <Menu.Item color="red" leftSection={<IconTrash size={16} />} onClick={() => setRemoving(true)}>
                  Remove
                </Menu.Item>
              )}
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
        opened={editing}
        onClose={() => setEditing(false)}
        title={`Edit ${server.name}`}
        size="lg"
        keepMounted={false}
      >
        <EditServer name={server.name} cwd={cwd} done={() => setEditing(false)} />
      </Modal>
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

function whereChanged({ origin, source }: McpServerInfo): string {
  if (origin === 'session') return 'A client passed it along for its session, and can change it there.'
  return `It comes with the project. It is changed in ${source}, and can be switched off here.`
}

function EditServer({ name, cwd, done }: { name: string; cwd: string; done: () => void }) {
  const kept = useAsk('mcp.show', { name }, { staleTime: 0, gcTime: 0 })
  if (kept.isPending) return <LoadingRows count={4} height={48} />
  if (kept.error) return <ErrorState problem={kept.error} retry={() => void kept.refetch()} />
  return <AddServer by={kept.data.server.url ? 'url' : 'command'} edited={kept.data} cwd={cwd} done={done} />
}

function Details({ server, cwd }: { server: McpServerInfo; cwd: string }) {
  const up = server.status === 'up'
  const [opened, setOpened] = useState<McpPrompt | McpResource | null>(null)
  const close = () => setOpened(null)
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
            <dt>Kept in</dt>
            <dd className="mono">{server.source === 'database' ? 'OpenAgent’s own data' : server.source}</dd>
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
        {(resources.isFetching || prompts.isFetching) && <LoadingRows count={1} height={24} />}
        {prompts.data && prompts.data.prompts.length > 0 && (
          <div>
            <dt>Prompts</dt>
            <dd>
              <ul className="server-offers">
                {prompts.data.prompts.map((one) => (
                  <Offer
                    key={one.name}
                    name={commandName(one)}
                    about={one.description}
                    action="Try"
                    open={() => setOpened(one)}
                  />
                ))}
              </ul>
            </dd>
          </div>
        )}
        {resources.data && resources.data.resources.length > 0 && (
          <div>
            <dt>Resources</dt>
            <dd>
              <ul className="server-offers">
                {resources.data.resources.map((one) => (
                  <Offer
                    key={one.uri}
                    name={one.uri}
                    about={one.description || one.name}
                    action="Read"
                    open={() => setOpened(one)}
                  />
                ))}
              </ul>
            </dd>
          </div>
        )}
      </dl>
      <Modal
        opened={opened !== null}
        onClose={close}
        title={opened && 'uri' in opened ? 'A resource' : 'A prompt'}
        size="lg"
        keepMounted={false}
      >
        {opened && 'uri' in opened && <ReadResource resource={opened} cwd={cwd} leave={close} />}
        {opened && !('uri' in opened) && <FillPrompt prompt={opened} cwd={cwd} leave={close} />}
      </Modal>
    </div>
  )
}

/** A prompt or a resource: what it is called, what it is for, and a way into it. */
function Offer(props: { name: string; about?: string; action: string; open: () => void }) {
  return (
    <li>
      <span className="mono">{props.name}</span>
      <span className="dim">{props.about}</span>
      <Button size="compact-xs" variant="default" onClick={props.open}>
        {props.action}
        <span className="visually-hidden"> {props.name}</span>
      </Button>
    </li>
  )
}
