import { Button, Select, Textarea } from '@mantine/core'
import { useMemo, useState } from 'react'
import { useAsk } from '@/lib/ask'
import { MODES, type Mode, modeWords } from '@/lib/modes'
import { Problem, useSubmit } from '@/parts/Form'
import { Chip, Notices, Section, type Tone } from '@/parts/Listing'
import { Words } from '@/parts/Words'
import type { PolicyExplanation, Ruling } from '@/protocol/types'
import { daemon } from '@/state/daemon'
import { givenTo } from './tools'

const DECIDED: Record<Ruling['decision'], [string, Tone]> = {
  allow: ['allowed', 'good'],
  ask: ['asked about', 'warn'],
  deny: ['denied', 'bad'],
}

const RISKS: Record<Ruling['risk'], Tone> = { low: 'plain', medium: 'warn', high: 'bad' }

/** A call that is only looked at: what would be decided, and by which rule. Nothing is run. */
export function TryCall({ cwd }: { cwd: string }) {
  const tools = useAsk('tools.list', {}, { staleTime: 60_000 })
  const names = useMemo(() => ['shell', ...(tools.data?.tools ?? []).map(({ name }) => name)], [tools.data])
  const [tool, setTool] = useState('shell')
  const [given, setGiven] = useState('')
  const [mode, setMode] = useState<Mode | ''>('')
  const [found, setFound] = useState<PolicyExplanation | null>(null)
  const { submit, busy, problem } = useSubmit(async () => {
    setFound(await daemon.request('policy.explain', { command: given.trim(), cwd, tool, ...(mode ? { mode } : {}) }))
  })
  const field = givenTo(tool)
  const ready = given.trim() !== ''
  return (
    <Section title="Try a call" about="See what would be decided about it, and why. Nothing is run.">
      <form
        className="panel rules-try"
        onSubmit={(event) => {
          event.preventDefault()
          if (ready) submit()
        }}
      >
        <div className="rules-how">
          <Select
            label="Tool"
            searchable
            allowDeselect={false}
            value={tool}
            onChange={(value) => {
              setTool(value ?? 'shell')
              setFound(null)
            }}
            data={[...new Set(names)]}
            classNames={{ input: 'mono' }}
            nothingFoundMessage="No tool is called that."
          />
          <Select
            label="In mode"
            allowDeselect={false}
            value={mode}
            onChange={(value) => setMode((value ?? '') as Mode | '')}
            data={[{ value: '', label: 'as configured' }, ...MODES]}
          />
        </div>
        <Textarea
          label={field.label}
          placeholder={field.example}
          autosize
          minRows={1}
          maxRows={8}
          value={given}
          onChange={(event) => setGiven(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return
            event.preventDefault()
            if (ready) submit()
          }}
          classNames={{ input: 'mono' }}
          spellCheck={false}
        />
        <Button type="submit" className="rules-go" loading={busy} disabled={!ready}>
          Try it
        </Button>
        <Problem text={problem} />
      </form>
      {found && <Found found={found} />}
    </Section>
  )
}

function Found({ found: { mode, ruling, steps, notices } }: { found: PolicyExplanation }) {
  const [word, tone] = DECIDED[ruling.decision]
  return (
    <section className={`panel rules-found rules-${ruling.decision}`} aria-label="What would be decided">
      <div role="status">
        <p className="rules-word">
          <Chip tone={tone}>{word}</Chip>
          <Chip tone={RISKS[ruling.risk]}>{ruling.risk} risk</Chip>
          <span className="dim" title={modeWords[mode]}>
            in mode {mode}
          </span>
        </p>
        <p className="rules-why">
          <Words text={ruling.reason} />
        </p>
        <p className="dim">
          Decided by <span className="mono">{ruling.rule}</span>
        </p>
      </div>
      {steps.length > 1 && <Steps steps={steps} />}
      <Notices notices={notices} />
    </section>
  )
}

/** What was decided about each simple command of a line. */
function Steps({ steps }: { steps: Ruling[] }) {
  return (
    <ol className="rules-steps" aria-label="Each of its commands">
      {steps.map((step, at) => {
        const [word, tone] = DECIDED[step.decision]
        return (
          <li key={at}>
            <code>{step.command}</code>
            <span className="rules-step-chips">
              <Chip tone={tone}>{word}</Chip>
            </span>
            <span className="dim">
              <Words text={step.reason} /> <span className="mono">{step.rule}</span>
            </span>
          </li>
        )
      })}
    </ol>
  )
}
