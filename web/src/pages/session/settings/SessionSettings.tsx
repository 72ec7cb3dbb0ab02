import { Button, NumberInput, Select, Textarea } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { IconArrowFork } from '@tabler/icons-react'
import { useState } from 'react'
import { useAsk } from '@/lib/ask'
import { MODES, modeWords } from '@/lib/modes'
import { tell } from '@/lib/tell'
import { Choice } from '@/parts/Choice'
import { Dialog } from '@/parts/Dialog'
import { Form } from '@/parts/Form'
import type { SessionInfo } from '@/protocol/types'
import { daemon } from '@/state/daemon'
import { changed, type Draft, draftOf, fromTemplate } from './draft'
import { MoveOn } from './MoveOn'
import './session-settings.css'

/** How a session works from its next step on. */
export default function SessionSettings({ info, close }: { info: SessionInfo; close: () => void }) {
  const [moving, move] = useDisclosure()
  const title = moving ? 'Go on in another directory' : 'Settings of this session'
  return (
    <Dialog onClose={close} title={title} size="lg">
      {moving ? (
        <MoveOn info={info} back={move.close} done={close} />
      ) : (
        <Fields info={info} move={move.open} close={close} />
      )}
    </Dialog>
  )
}

function Fields({ info, move, close }: { info: SessionInfo; move: () => void; close: () => void }) {
  const [draft, setDraft] = useState(() => draftOf(info))
  const change = (part: Partial<Draft>) => setDraft((now) => ({ ...now, ...part }))
  const settings = changed(draftOf(info), draft)
  const save = async () => {
    await daemon.request('session.update', { session: info.id, settings })
    close()
    tell({ tone: 'plain', title: 'Settings saved', text: 'They count from the next step on.' })
  }
  return (
    <Form work={save} action="Save" ready={Object.keys(settings).length > 0} leave={close}>
      <Persona info={info} take={change} />
      <Textarea
        label="Instructions"
        description={draft.replace_prompt ? 'In place of the system prompt.' : 'Added to the system prompt.'}
        value={draft.instructions}
        onChange={(event) => change({ instructions: event.currentTarget.value })}
        autosize
        minRows={3}
        maxRows={12}
        data-autofocus
      />
      <div>
        <div className="field-label" aria-hidden>
          Mode
        </div>
        <Choice label="Mode" value={draft.mode} choose={(mode) => change({ mode })} choices={MODES} />
        <p className="field-hint">{modeWords[draft.mode]}</p>
      </div>
      <div className="settings-pair">
        <NumberInput
          label="Budget in dollars"
          description="With all that work for it."
          placeholder="as configured"
          min={0}
          decimalScale={4}
          prefix="$"
          value={draft.budget_usd ?? ''}
          onChange={(value) => change({ budget_usd: number(value) })}
        />
        <NumberInput
          label="Budget in tokens"
          description="With all that work for it."
          placeholder="as configured"
          min={0}
          thousandSeparator=" "
          value={draft.budget_tokens ?? ''}
          onChange={(value) => change({ budget_tokens: number(value) })}
        />
        <NumberInput
          label="Temperature"
          description="How freely the model answers."
          placeholder="the provider's own"
          min={0}
          max={2}
          step={0.1}
          decimalScale={2}
          value={draft.temperature ?? ''}
          onChange={(value) => change({ temperature: number(value) })}
        />
        <NumberInput
          label="Longest answer"
          description="In tokens."
          placeholder="as the model can"
          min={1}
          thousandSeparator=" "
          value={draft.max_output_tokens ?? ''}
          onChange={(value) => change({ max_output_tokens: number(value) })}
        />
        <NumberInput
          label="Steps at most"
          description="In one turn."
          min={1}
          value={draft.max_steps}
          onChange={(value) => change({ max_steps: number(value) ?? draft.max_steps })}
        />
        <NumberInput
          label="Seconds at most"
          description="In one turn, from the next one on."
          placeholder="no limit"
          min={1}
          value={draft.turn_timeout ?? ''}
          onChange={(value) => change({ turn_timeout: number(value) })}
        />
      </div>
      <div>
        <div className="field-label">Directory</div>
        <div className="settings-place">
          <span className="mono">{info.cwd}</span>
          <Button size="compact-sm" variant="default" leftSection={<IconArrowFork size={14} />} onClick={move}>
            Go on elsewhere …
          </Button>
        </div>
        <p className="field-hint">
          A session stays in its directory, with what can be undone there. Elsewhere a copy of the conversation goes on.
        </p>
      </div>
    </Form>
  )
}

const number = (value: number | string) => (value === '' ? null : Number(value))

/** A template's words and limits, put into the fields; nothing holds before it is saved. */
function Persona({ info, take }: { info: SessionInfo; take: (part: Partial<Draft>) => void }) {
  const templates = useAsk('templates.list', { cwd: info.cwd })
  const all = templates.data?.templates ?? []
  const [chosen, setChosen] = useState<string | null>(info.template || null)
  const about = all.find(({ template }) => template.name === chosen)?.template.description
  return (
    <Select
      label="Persona"
      description={
        about || 'Fills the fields below with what a template says. Model and tools are switched in the header.'
      }
      placeholder={templates.isPending ? 'Loading …' : 'none'}
      data={all.map(({ template }) => template.name)}
      value={chosen}
      searchable
      error={templates.error?.message}
      onChange={(name) => {
        setChosen(name)
        const found = all.find(({ template }) => template.name === name)
        if (found) take(fromTemplate(found.template))
      }}
    />
  )
}
