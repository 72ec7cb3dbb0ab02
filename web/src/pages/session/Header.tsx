import { ActionIcon, TextInput, UnstyledButton } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { IconLayoutColumns, IconLayoutSidebarLeftExpand, IconLayoutSidebarRightExpand } from '@tabler/icons-react'
import { Suspense, useState } from 'react'
import { act, useAsk } from '@/lib/ask'
import { money } from '@/lib/format'
import { later } from '@/lib/later'
import { Chip } from '@/parts/Listing'
import { ContextMeter } from '@/parts/Meter'
import { StatusMark } from '@/parts/StatusMark'
import { Tip } from '@/parts/Tip'
import type { SessionInfo } from '@/protocol/types'
import { usePeople } from '@/state/people'
import { useCost, useSpent } from '@/state/tree'
import { openPanel } from './panels'
import { TABS } from './split/place'
import type { Going } from './split/use-place'
import { ModelSwitch, ModeSwitch, More, ToolSwitches } from './triggers'
import './header.css'

const Sharing = later(() => import('./sharing/Sharing'), true)

interface Props {
  info: SessionInfo
  going: Going
  openLeft: () => void
  openRight: () => void
  rewind: () => void
}

/** Always in sight: name, model, mode, jail, context and spend. What is changed here counts from the next message on. */
export function Header({ info, going, openLeft, openRight, rewind }: Props) {
  const status = useAsk('daemon.status', {})
  const several = usePeople((state) => state.several)
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
      {info.origin && (
        <span className="session-origin">
          <Chip title={`Begun with ${info.origin.title}: ${info.origin.path}`}>{info.origin.title}</Chip>
        </span>
      )}
      <div className="session-switches">
        <ModelSwitch info={info} />
        <ModeSwitch info={info} />
        <ToolSwitches info={info} />
        <span className="jail dim cut" title={`Commands run in: ${status.data?.jail ?? ''}`}>
          {status.data?.jail}
        </span>
      </div>
      <div className="session-tabs" role="tablist" aria-label="Views">
        {(['chat', ...TABS] as const).map((name) => (
          <button
            key={name}
            type="button"
            role="tab"
            aria-selected={going.tab === name}
            className="session-tab"
            onClick={() => going.toTab(name)}
          >
            {name}
          </button>
        ))}
      </div>
      {!going.narrow && <BesideSwitch going={going} />}
      <div className="session-figures">
        <UnstyledButton
          className="figure-button"
          title="What takes how much of the context (x)"
          onClick={() => openPanel('context')}
        >
          <ContextMeter usage={info.usage} wide />
        </UnstyledButton>
        <Spend info={info} />
      </div>
      {several && (
        <Suspense fallback={<span className="sharing" />}>
          <Sharing info={info} />
        </Suspense>
      )}
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

function BesideSwitch({ going: { place, toBeside, closeBeside } }: { going: Going }) {
  const what = place.beside ? 'Close what is beside' : 'Show files, terminal or agents beside'
  return (
    <Tip label={what}>
      <ActionIcon
        variant={place.beside ? 'light' : 'subtle'}
        color={place.beside ? undefined : 'gray'}
        aria-label="Side by side"
        aria-pressed={place.beside !== undefined}
        onClick={() => (place.beside ? closeBeside() : toBeside(place.tab))}
      >
        <IconLayoutColumns size={17} />
      </ActionIcon>
    </Tip>
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

/** From this share of its budget on, the sum is marked. */
const NEARLY_SPENT = 0.8

function Spend({ info }: { info: SessionInfo }) {
  // Its own budget, or the configured one.
  const budget = info.cap_usd ?? info.settings?.budget_usd
  const spent = useSpent(info.id)
  const cost = useCost(info.id)
  const { cap_usd: day, spent_usd: sinceMidnight = 0 } = info.today ?? {}
  const share = budget ? spent / budget : 0
  const dayShare = day ? sinceMidnight / day : 0
  const near = Math.max(share, dayShare) >= NEARLY_SPENT
  const today = day ? `; today ${money(sinceMidnight)} of ${money(day)} in all sessions` : ''
  return (
    <span
      className={near ? 'mono spend spend-near' : 'mono spend'}
      title={`Spent with its agents${budget ? `, of a budget of ${money(budget)}` : '; it has no budget of its own'}${today}${cost.endsWith('?') ? '; some prices are not known' : ''}`}
    >
      {cost}
      {budget ? <span className="dim">/{money(budget)}</span> : null}
      {day && dayShare >= Math.max(share, NEARLY_SPENT) ? (
        <span>
          {' '}
          today {money(sinceMidnight)}
          <span className="dim">/{money(day)}</span>
        </span>
      ) : null}
    </span>
  )
}
