import { ActionIcon, TextInput, UnstyledButton } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { IconLayoutSidebarLeftExpand, IconLayoutSidebarRightExpand } from '@tabler/icons-react'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { act, useAsk } from '@/lib/ask'
import { money } from '@/lib/format'
import { ContextMeter } from '@/parts/Meter'
import { StatusMark } from '@/parts/StatusMark'
import type { SessionInfo } from '@/protocol/types'
import { ModelSwitch, ModeSwitch, More, ToolSwitches } from './triggers'
import './header.css'

interface Props {
  info: SessionInfo
  tab: 'chat' | 'files' | 'terminal'
  openLeft: () => void
  openRight: () => void
  rewind: () => void
}

/** Always in sight: name, model, mode, jail, context and spend. What is changed here counts from the next message on. */
export function Header({ info, tab, openLeft, openRight, rewind }: Props) {
  const status = useAsk('daemon.status', {})
  const navigate = useNavigate()
  const to = (next: Props['tab']) =>
    void navigate({
      to: '/sessions/$id',
      params: { id: info.id },
      search: next === 'chat' ? {} : { tab: next },
    })
  return (
    <header className="session-head">
      <ActionIcon
        variant="subtle"
        color="gray"
        className="only-narrow"
        aria-label="Show the sessions"
        onClick={openLeft}
      >
        <IconLayoutSidebarLeftExpand size={18} />
      </ActionIcon>
      <StatusMark status={info.status} />
      <Name info={info} />
      <div className="session-switches">
        <ModelSwitch info={info} />
        <ModeSwitch info={info} />
        <ToolSwitches info={info} />
        <span className="jail dim cut" title={`Commands run in: ${status.data?.jail ?? ''}`}>
          {status.data?.jail}
        </span>
      </div>
      <div className="session-tabs" role="tablist" aria-label="Views">
        {(['chat', 'files', 'terminal'] as const).map((name) => (
          <button
            key={name}
            type="button"
            role="tab"
            aria-selected={tab === name}
            className="session-tab"
            onClick={() => to(name)}
          >
            {name}
          </button>
        ))}
      </div>
      <div className="session-figures">
        <ContextMeter usage={info.usage} wide />
        <Spend info={info} />
      </div>
      <More info={info} rewind={rewind} />
      <ActionIcon
        variant="subtle"
        color="gray"
        className="only-not-wide"
        aria-label="Show plan, changes and usage"
        onClick={openRight}
      >
        <IconLayoutSidebarRightExpand size={18} />
      </ActionIcon>
    </header>
  )
}

function Name({ info }: { info: SessionInfo }) {
  const [editing, edit] = useDisclosure()
  const [name, setName] = useState('')
  if (!editing)
    return (
      <UnstyledButton
        className="session-name"
        title="Rename"
        onClick={() => {
          setName(info.name)
          edit.open()
        }}
      >
        <h1 className="cut">{info.name || 'Unnamed session'}</h1>
      </UnstyledButton>
    )
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        edit.close()
        if (name.trim()) void act('session.update', { session: info.id, name: name.trim() })
      }}
    >
      <TextInput
        size="xs"
        aria-label="Name of the session"
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
        onBlur={edit.close}
        onKeyDown={(event) => {
          if (event.key === 'Escape') edit.close()
        }}
        autoFocus
      />
    </form>
  )
}

function Spend({ info }: { info: SessionInfo }) {
  const budget = info.settings?.budget_usd
  const spent = info.usage?.cost_usd ?? 0
  return (
    <span className="mono spend" title={budget ? `of a budget of ${money(budget)}` : 'no budget of its own'}>
      {money(spent)}
      {budget ? <span className="dim">/{budget}</span> : null}
    </span>
  )
}
