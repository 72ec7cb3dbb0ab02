import { Button, TextInput } from '@mantine/core'
import { useState } from 'react'
import { Problem, useSubmit } from '@/parts/Form'
import { Pictures } from '@/parts/Pictures'
import type { McpPrompt, McpPromptMessage } from '@/protocol/types'
import { daemon } from '@/state/daemon'
import { commandName, isFilled, promptCommand } from './prompt-command'
import './mcp-parts.css'
import '@/parts/listing.css'

interface Props {
  prompt: McpPrompt
  /** The folder whose server it is. */
  cwd: string
  /** What becomes of it: it goes into a message. Without, it is only looked at. */
  take?: (command: string) => void
  leave: () => void
}

/** Asks for what a server's prompt is filled in with, and shows what it then says. */
export function FillPrompt({ prompt, cwd, take, leave }: Props) {
  const [values, setValues] = useState<Record<string, string>>({})
  const [said, setSaid] = useState<McpPromptMessage[] | null>(null)
  const { submit, busy, problem } = useSubmit(async () => {
    const given = Object.fromEntries(Object.entries(values).filter(([, value]) => value.trim() !== ''))
    const { server, name } = prompt
    setSaid((await daemon.request('mcp.prompt.get', { cwd, server, name, arguments: given })).messages)
  })
  const ready = isFilled(prompt, values)
  const asked = prompt.arguments ?? []
  return (
    <form
      className="form"
      onSubmit={(event) => {
        event.preventDefault()
        if (!ready) return
        if (take) take(promptCommand(prompt, values))
        else submit()
      }}
    >
      <p className="confirm-text">
        <code>{commandName(prompt)}</code> {prompt.description}
      </p>
      {asked.map(({ name, description, required }, at) => (
        <TextInput
          key={name}
          label={name}
          description={description}
          required={required}
          value={values[name] ?? ''}
          onChange={(event) => {
            const { value } = event.currentTarget
            setValues((known) => ({ ...known, [name]: value }))
          }}
          data-autofocus={at === 0 ? true : undefined}
        />
      ))}
      <Problem text={problem} />
      {said && <Said messages={said} />}
      <div className="form-actions">
        <Button variant="default" onClick={leave}>
          {take ? 'Cancel' : 'Close'}
        </Button>
        <Button
          variant={take ? 'default' : 'filled'}
          type={take ? 'button' : 'submit'}
          loading={busy}
          disabled={!ready}
          onClick={take ? () => submit() : undefined}
        >
          See what it says
        </Button>
        {take && (
          <Button type="submit" disabled={!ready}>
            Put into the message
          </Button>
        )}
      </div>
    </form>
  )
}

const WHO = { user: 'You', assistant: 'The agent' } as const

function Said({ messages }: { messages: McpPromptMessage[] }) {
  return (
    <section className="prompt-said" aria-label="What it says">
      {messages.length === 0 && <p className="dim">Nothing.</p>}
      {messages.map(({ role, part }, at) => (
        <div key={at}>
          <strong>{WHO[role]}</strong>
          {part.type === 'text' ? <p>{part.text}</p> : <Pictures images={[part]} />}
        </div>
      ))}
    </section>
  )
}
