import { Button, Textarea } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { keepPreviousData } from '@tanstack/react-query'
import { useState } from 'react'
import { useAsk } from '@/lib/ask'
import { FlowDrawing } from '@/parts/flow/FlowDrawing'
import { LoadingRows } from '@/parts/states'
import type { FlowInfo } from '@/protocol/types'

const EXAMPLE = `name = "feature"
description = "Plan, build with tests, repair until they pass"

[inputs]
task = "What to build"

[[step]]
name = "plan"
template = "architect"
task = "Plan: {task}"

[[step]]
name = "build"
parallel = [
  { template = "coder", task = "Build it by this plan: {plan}" },
  { template = "tester", task = "Write tests for this plan: {plan}" },
]

[[step]]
name = "repair"
template = "coder"
task = "The check said: {check}. Repair it."
until = "make test"
max_rounds = 3
`

interface Props {
  /** What to begin with; empty: an example. */
  text: string
  cwd: string
  run: (flow: FlowInfo) => void
  leave: () => void
}

/** A flow's text, checked and drawn while it is written. */
export function WriteFlow({ text: first, cwd, run, leave }: Props) {
  const [text, setText] = useState(first || EXAMPLE)
  const [settled] = useDebouncedValue(text, 250)
  const checked = useAsk('flow.check', { text: settled, cwd }, { placeholderData: keepPreviousData })
  const flow = checked.data
  const problems = flow?.problems ?? []
  const good = flow !== undefined && problems.length === 0 && settled === text && !checked.isPlaceholderData
  return (
    <div className="form">
      <Textarea
        label="The flow"
        description="Keep it as .openagent/flows/NAME.toml in the project, to run it by name."
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
        autosize
        minRows={10}
        maxRows={22}
        spellCheck={false}
        classNames={{ input: 'mono flow-text' }}
        data-autofocus
      />
      <div className="flow-checked" role="status">
        {checked.isPending ? (
          <LoadingRows count={1} height={120} />
        ) : problems.length > 0 ? (
          problems.map((problem) => (
            <p key={problem} className="flow-problem">
              {problem}
            </p>
          ))
        ) : (
          flow && <FlowDrawing flow={flow} />
        )}
        {checked.error && <p className="flow-problem">{checked.error.message}</p>}
      </div>
      <div className="form-actions">
        <Button variant="default" onClick={leave}>
          Close
        </Button>
        <Button disabled={!good} onClick={() => flow && run({ ...flow, text })}>
          Run it …
        </Button>
      </div>
    </div>
  )
}
