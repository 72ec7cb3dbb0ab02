import { ActionIcon, UnstyledButton } from '@mantine/core'
import { IconChevronDown, IconDots, IconTool } from '@tabler/icons-react'
import type { ComponentProps } from 'react'
import { answering, modelName } from '@/lib/format'
import { modeWords } from '@/lib/modes'
import { onDemand } from '@/parts/Demand'
import type { SessionInfo } from '@/protocol/types'

type ButtonProps = Omit<ComponentProps<'button'>, 'color'>

export function ModelTrigger({ info, className = '', ...props }: { info: SessionInfo } & ButtonProps) {
  const current = answering(info)
  return (
    <UnstyledButton
      className={`switch model-switch ${className}`}
      aria-label={`Model: ${current || 'as configured'}`}
      data-takes-keys
      title={current}
      {...props}
    >
      <span className="cut">{modelName(current) || 'choose a model'}</span>
      <IconChevronDown size={12} />
    </UnstyledButton>
  )
}

export function ModeTrigger({ info, className = '', ...props }: { info: SessionInfo } & ButtonProps) {
  const mode = info.settings?.mode ?? 'ask'
  return (
    <UnstyledButton className={`switch mode-switch ${className}`} title={modeWords[mode]} {...props}>
      <span className="dim">mode</span>
      <span>{mode}</span>
      <IconChevronDown size={12} />
    </UnstyledButton>
  )
}

export function ToolsTrigger({ info, className = '', ...props }: { info: SessionInfo } & ButtonProps) {
  const off = (info.settings?.disabled_tools?.length ?? 0) + (info.settings?.disabled_mcp_servers?.length ?? 0)
  return (
    <UnstyledButton className={`switch ${className}`} aria-label="Tools and MCP servers" {...props}>
      <IconTool size={14} />
      <span>tools{off > 0 && ` (${off} off)`}</span>
      <IconChevronDown size={12} />
    </UnstyledButton>
  )
}

interface MoreProps {
  info: SessionInfo
  rewind: () => void
}

export function MoreTrigger({ info: _info, rewind: _rewind, ...props }: MoreProps & ButtonProps) {
  return (
    <ActionIcon variant="subtle" color="gray" aria-label="More" {...props}>
      <IconDots size={18} />
    </ActionIcon>
  )
}

export const ModelSwitch = onDemand<{ info: SessionInfo }>(() => import('./ModelSwitch'), ModelTrigger)
export const ModeSwitch = onDemand<{ info: SessionInfo }>(() => import('./ModeSwitch'), ModeTrigger)
export const ToolSwitches = onDemand<{ info: SessionInfo }>(() => import('./ToolSwitches'), ToolsTrigger)
export const More = onDemand<MoreProps>(() => import('./More'), MoreTrigger)
