import { Textarea, TextInput } from '@mantine/core'
import { useState } from 'react'
import { duration } from '@/lib/format'
import { Form } from '@/parts/Form'
import { Chip, Notices, type Tone } from '@/parts/Listing'
import type { HooksTried, HookTried } from '@/protocol/types'
import { daemon } from '@/state/daemon'

const ENDS: Record<HookTried['outcome'], [string, Tone]> = {
  done: ['let it pass', 'good'],
  blocked: ['would refuse it', 'warn'],
  failed: ['failed', 'bad'],
  timeout: ['took too long', 'bad'],
}

/** Plays an event: its hooks run for real, and nothing else happens. */
export function TryHooks({ event, cwd, done }: { event: string; cwd: string; done: () => void }) {
  const [tool, setTool] = useState('')
  const [input, setInput] = useState('')
  const [tried, setTried] = useState<HooksTried | null>(null)
  const run = async () => {
    const given = input.trim() ? (JSON.parse(input) as Record<string, unknown>) : {}
    setTried(await daemon.request('hooks.test', { event, cwd, tool, input: given }))
  }
  return (
    <>
      <Form work={run} action="Try" ready leave={done}>
        <TextInput
          label="Tool"
          description="Where the event is about one."
          placeholder="shell"
          value={tool}
          onChange={(change) => setTool(change.currentTarget.value)}
          classNames={{ input: 'mono' }}
          data-autofocus
        />
        <Textarea
          label="What the tool is given"
          description="As JSON."
          placeholder='{"command": "rm -rf build"}'
          autosize
          minRows={2}
          maxRows={8}
          value={input}
          onChange={(change) => setInput(change.currentTarget.value)}
          classNames={{ input: 'mono' }}
        />
      </Form>
      {tried && (
        <>
          <Notices notices={tried.notices} />
          {tried.tried.length === 0 && <p className="dim">No hook is for this.</p>}
          <ul className="tried" aria-label="What the hooks did">
            {tried.tried.map((one, at) => (
              <Tried key={at} one={one} />
            ))}
          </ul>
        </>
      )}
    </>
  )
}

function Tried({ one }: { one: HookTried }) {
  const [word, tone] = ENDS[one.outcome]
  const printed = [one.stdout, one.stderr].filter(Boolean).join('\n')
  return (
    <li>
      <div className="tried-line">
        <code className="custom-command">{one.hook.command}</code>
        <Chip tone={tone}>{word}</Chip>
        <span className="mono dim">
          {one.exit_code === null || one.exit_code === undefined ? '' : `exit ${one.exit_code} · `}
          {duration(one.duration_ms ?? 0)}
        </span>
      </div>
      {one.detail && !printed.includes(one.detail) && <div className="dim">{one.detail}</div>}
      {printed && <pre className="custom-output">{printed}</pre>}
    </li>
  )
}
