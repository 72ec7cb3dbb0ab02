import {
  IconArchive,
  IconArrowBackUp,
  IconArrowForwardUp,
  IconArrowsMinimize,
  IconCopy,
  IconCpu,
  IconDownload,
  IconFiles,
  IconGitCompare,
  IconMessage,
  IconPencil,
  IconShield,
  IconTerminal2,
  IconUsers,
} from '@tabler/icons-react'
import { act, tellProblem } from '@/lib/ask'
import { tokens } from '@/lib/format'
import { MODES, modeWords } from '@/lib/modes'
import { tell } from '@/lib/tell'
import type { SessionInfo } from '@/protocol/types'
import type { Command } from '@/shell/palette-state'
import { isRunning } from '@/state/conversation'
import { usePeople } from '@/state/people'
import { takeAway } from './take-away'

type Going = (tab: string, session?: string) => void

/** What can be done with the session that is open, for the palette. Loaded with it. */
export function sessionCommands(info: SessionInfo, undo: () => void, go: Going): Command[] {
  const fork = async () => {
    const made = await act('session.fork', { session: info.id, name: `${info.name || 'session'} (fork)` })
    if (made) go('', made.id)
  }
  const mode = info.settings?.mode ?? 'ask'
  return [
    command('chat', 'Open the chat', <IconMessage size={16} />, () => go('')),
    command('review', 'Open the review of its changes', <IconGitCompare size={16} />, () => go('review')),
    command('files', 'Open its files', <IconFiles size={16} />, () => go('files')),
    command('terminal', 'Open its terminal', <IconTerminal2 size={16} />, () => go('terminal')),
    command('rename', 'Rename this session', <IconPencil size={16} />, () => press('.session-name')),
    command('model', 'Switch the model', <IconCpu size={16} />, () => press('.model-switch')),
    ...MODES.filter((one) => one !== mode).map((one) =>
      command(
        `mode-${one}`,
        `Switch to mode ${one}`,
        <IconShield size={16} />,
        () => setMode(info, one),
        modeWords[one],
      ),
    ),
    ...(info.turn_count
      ? [
          { ...command('undo', 'Undo changes …', <IconArrowBackUp size={16} />, undo), keywords: ['rewind', 'revert'] },
          command('redo', 'Redo what was undone last', <IconArrowForwardUp size={16} />, () => {
            void act('session.redo', { session: info.id })
          }),
        ]
      : []),
    ...(usePeople.getState().several
      ? [command('share', 'Share this session …', <IconUsers size={16} />, () => press('.sharing-button'))]
      : []),
    command('fork', 'Fork this session', <IconCopy size={16} />, () => void fork()),
    ...(isRunning(info)
      ? []
      : [command('compact', 'Compact the context', <IconArrowsMinimize size={16} />, () => void compact(info))]),
    command('export', 'Export as Markdown', <IconDownload size={16} />, () => {
      takeAway(info, 'md').catch(tellProblem)
    }),
    command(
      'archive',
      info.archived ? 'Take this session out of the archive' : 'Archive this session',
      <IconArchive size={16} />,
      () => void act('session.update', { session: info.id, archived: !info.archived }),
    ),
  ]
}

function command(
  id: string,
  label: string,
  icon: Command['leftSection'],
  onClick: () => void,
  description?: string,
): Command {
  return { id: `session-${id}`, label, leftSection: icon, onClick, ...(description ? { description } : {}) }
}

function setMode(info: SessionInfo, mode: (typeof MODES)[number]): void {
  void act('session.update', { session: info.id, settings: { mode } })
}

/** Name and model are changed where they stand: the palette only opens that, once it is gone itself. */
function press(selector: string): void {
  setTimeout(() => document.querySelector<HTMLElement>(selector)?.click(), 150)
}

async function compact(info: SessionInfo): Promise<void> {
  const done = await act('context.collect', { session: info.id })
  if (!done) return
  const sizes = `${tokens(done.tokens_before ?? 0)} → ${tokens(done.tokens_after ?? 0)} tokens`
  tell({
    tone: 'plain',
    title: done.done ? 'Compacted' : 'Nothing to compact',
    text: done.note || (done.done ? sizes : 'The context is short enough as it is.'),
  })
}
