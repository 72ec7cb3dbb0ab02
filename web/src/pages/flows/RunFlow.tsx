import { NumberInput, Textarea } from '@mantine/core'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { MODES, type Mode, modeWords } from '@/lib/modes'
import { Choice } from '@/parts/Choice'
import { Form } from '@/parts/Form'
import { FlowDrawing } from '@/parts/flow/FlowDrawing'
import type { FlowInfo } from '@/protocol/types'
import { daemon } from '@/state/daemon'

/** What a flow wants to be given, and how freely its agents work. */
export function RunFlow({ flow, cwd, done }: { flow: FlowInfo; cwd: string; done: () => void }) {
  const navigate = useNavigate()
  const inputs = Object.entries(flow.inputs ?? {})
  const defaults = flow.defaults ?? {}
  const [given, setGiven] = useState<Record<string, string>>({})
  const [mode, setMode] = useState<Mode | 'configured'>('configured')
  const [budget, setBudget] = useState<number | string>('')
  const missing = inputs.filter(([name]) => !(name in defaults) && !given[name]?.trim())
  const run = async () => {
    const filled = Object.fromEntries(Object.entries(given).filter(([, value]) => value.trim() !== ''))
    const running = await daemon.request('flow.run', {
      text: flow.text ?? '',
      file: flow.file,
      cwd,
      inputs: filled,
      ...(mode === 'configured' ? {} : { mode }),
      ...(budget === '' ? {} : { budget_usd: Number(budget) }),
    })
    done()
    await navigate({ to: '/sessions/$id', params: { id: running.session } })
  }
  return (
    <Form work={run} action="Run" ready={missing.length === 0 && cwd !== ''} leave={done}>
      <FlowDrawing flow={flow} />
      {inputs.map(([name, about], at) => (
        <Textarea
          key={name}
          label={name}
          description={about}
          placeholder={defaults[name]}
          required={!(name in defaults)}
          autosize
          minRows={1}
          maxRows={8}
          value={given[name] ?? ''}
          onChange={(event) => setGiven({ ...given, [name]: event.currentTarget.value })}
          data-autofocus={at === 0 || undefined}
        />
      ))}
      <div>
        <div className="field-label" aria-hidden>
          Mode
        </div>
        <Choice
          label="Mode"
          value={mode}
          choose={setMode}
          choices={[{ value: 'configured', label: 'as configured' }, ...MODES]}
        />
        <p className="field-hint">{mode === 'configured' ? 'As sessions here usually work.' : modeWords[mode]}</p>
      </div>
      <NumberInput
        label="Budget in dollars"
        placeholder="no limit of its own"
        min={0}
        decimalScale={4}
        prefix="$"
        value={budget}
        onChange={setBudget}
      />
      <p className="dim flow-where">
        Its agents work in <span className="mono">{cwd || 'no folder yet: choose a project first'}</span>
      </p>
    </Form>
  )
}
