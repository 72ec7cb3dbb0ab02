import { Autocomplete, Button, NumberInput, Switch, TagsInput, Textarea, TextInput } from '@mantine/core'
import { useState } from 'react'
import { useAsk } from '@/lib/ask'
import { useRenew } from '@/lib/live'
import { MODES, modeWords } from '@/lib/modes'
import { Choice } from '@/parts/Choice'
import { Problem, useSubmit } from '@/parts/Form'
import type { Template } from '@/protocol/types'
import { daemon } from '@/state/daemon'

const EMPTY: Template = { name: '', description: '', prompt: '' }

type View = 'form' | 'markdown'

/** A template as a form, or as the Markdown it is. What is written in one is there in the other. */
export function Editor(props: { template: Template | null; replaces: boolean; taken: string[]; done: () => void }) {
  const renew = useRenew('templates.list')
  const [view, setView] = useState<View>('form')
  const [template, setTemplate] = useState<Template>(props.template ?? EMPTY)
  const [markdown, setMarkdown] = useState('')
  const replaces = view === 'form' && props.taken.includes(template.name)

  const { submit, busy, problem } = useSubmit(async (wanted: View | 'saved') => {
    if (wanted === 'markdown') {
      setMarkdown((await daemon.request('templates.write', { template })).text)
      setView(wanted)
    } else if (wanted === 'form') {
      setTemplate(await daemon.request('templates.read', { text: markdown, file: 'template.md' }))
      setView(wanted)
    } else {
      const replace = props.replaces || replaces
      if (view === 'form') await daemon.request('templates.save', { template, replace })
      else await daemon.request('templates.import', { text: markdown, file: 'template.md', replace: props.replaces })
      await renew()
      props.done()
    }
  })

  return (
    <form
      className="form"
      onSubmit={(event) => {
        event.preventDefault()
        submit('saved')
      }}
      onKeyDown={(event) => {
        if (event.key === 'Enter' && (event.metaKey || event.ctrlKey)) submit('saved')
      }}
    >
      <Choice
        wide
        label="How to edit it"
        value={view}
        choose={submit}
        choices={[
          { value: 'form', label: 'Form' },
          { value: 'markdown', label: 'Markdown' },
        ]}
      />
      {view === 'form' ? (
        <Fields template={template} change={(part) => setTemplate((known) => ({ ...known, ...part }))} />
      ) : (
        <Textarea
          label="Markdown with front matter"
          value={markdown}
          onChange={(event) => setMarkdown(event.currentTarget.value)}
          classNames={{ input: 'mono template-raw' }}
          autosize
          minRows={18}
          maxRows={30}
          spellCheck={false}
        />
      )}
      {replaces && !props.replaces && (
        <p className="field-hint">There is a saved template {template.name} already: this one takes its place.</p>
      )}
      <Problem text={problem} />
      <div className="form-actions">
        <Button variant="default" onClick={props.done}>
          Cancel
        </Button>
        <Button type="submit" loading={busy} disabled={view === 'form' && !template.name.trim()}>
          Save
        </Button>
      </div>
    </form>
  )
}

function Fields({ template, change }: { template: Template; change: (part: Partial<Template>) => void }) {
  const models = useAsk('models.list', {}, { staleTime: 300_000 })
  const tools = useAsk('tools.list', {})
  const number = (value: number | string) => (value === '' ? null : Number(value))
  return (
    <>
      <div className="template-pair">
        <TextInput
          label="Name"
          description="Letters, digits, - and _."
          placeholder="reviewer"
          value={template.name}
          onChange={(event) => change({ name: event.currentTarget.value })}
          required
          data-autofocus
        />
        <TextInput
          label="Role"
          description="What the team calls it."
          value={template.role ?? ''}
          onChange={(event) => change({ role: event.currentTarget.value })}
        />
      </div>
      <TextInput
        label="Description"
        description="When to call it, in a sentence: other agents choose by it."
        value={template.description ?? ''}
        onChange={(event) => change({ description: event.currentTarget.value })}
      />
      <Textarea
        label="Prompt"
        description={template.replace_prompt ? 'In place of the system prompt.' : 'Added to the system prompt.'}
        value={template.prompt ?? ''}
        onChange={(event) => change({ prompt: event.currentTarget.value })}
        autosize
        minRows={6}
        maxRows={18}
        classNames={{ input: 'mono template-raw' }}
      />
      <Switch
        label="The prompt is the whole system prompt"
        description="Nothing else says who the agent is. Rules, tools and limits hold as ever."
        checked={template.replace_prompt ?? false}
        onChange={(event) => change({ replace_prompt: event.currentTarget.checked })}
      />
      <div className="template-pair">
        <Autocomplete
          label="Model"
          placeholder="that of the session that calls it"
          data={['auto', ...(models.data?.models.map((one) => one.name) ?? [])]}
          limit={50}
          value={template.model ?? ''}
          onChange={(model) => change({ model })}
        />
        <TagsInput
          label="Tools"
          placeholder={template.tools?.length ? '' : 'all'}
          data={tools.data?.tools.map((one) => one.name) ?? []}
          value={template.tools ?? []}
          onChange={(names) => change({ tools: names.length > 0 ? names : null })}
          clearable
        />
      </div>
      <div>
        <div className="field-label" aria-hidden>
          Mode
        </div>
        <Choice
          wide
          label="Mode"
          value={template.mode ?? ''}
          choose={(value) => change({ mode: value || null })}
          choices={[{ value: '', label: 'as the session' }, ...MODES]}
        />
        <p className="field-hint">
          {template.mode ? modeWords[template.mode] : 'What the session it is used in may do.'}
        </p>
      </div>
      <div className="template-pair template-triple">
        <NumberInput
          label="Steps at most"
          placeholder="no limit of its own"
          min={1}
          value={template.max_steps ?? ''}
          onChange={(value) => change({ max_steps: number(value) })}
        />
        <NumberInput
          label="Seconds a turn may take"
          placeholder="no limit of its own"
          min={1}
          value={template.timeout ?? ''}
          onChange={(value) => change({ timeout: number(value) })}
        />
        <NumberInput
          label="Budget in dollars"
          placeholder="no limit of its own"
          min={0}
          decimalScale={4}
          prefix="$"
          value={template.budget_usd ?? ''}
          onChange={(value) => change({ budget_usd: number(value) })}
        />
      </div>
    </>
  )
}
