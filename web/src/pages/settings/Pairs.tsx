import { ActionIcon, Button, TextInput } from '@mantine/core'
import { IconX } from '@tabler/icons-react'
import { useState } from 'react'
import type { ControlProps } from './Control'

/** A table whose names are one's own: each with its text, and a line to add another. */
export function Pairs({ entry, busy, disabled, savePart }: ControlProps) {
  const [name, setName] = useState('')
  const [text, setText] = useState('')
  const pairs = Object.entries((entry.value ?? {}) as Record<string, unknown>)
  return (
    <div className="setting-pairs">
      {pairs.map(([each, value]) => (
        <div key={each} className="setting-pair">
          <span className="mono">
            {each} = {String(value)}
          </span>
          <ActionIcon
            size="sm"
            variant="subtle"
            color="gray"
            disabled={disabled || busy}
            aria-label={`Take ${each} out of ${entry.key}`}
            onClick={() => savePart(each, null)}
          >
            <IconX size={14} />
          </ActionIcon>
        </div>
      ))}
      <form
        className="setting-typed"
        onSubmit={(event) => {
          event.preventDefault()
          savePart(name.trim(), text)
          setName('')
          setText('')
        }}
      >
        <TextInput
          size="xs"
          aria-label={`Name in ${entry.key}`}
          placeholder="name"
          value={name}
          disabled={disabled}
          onChange={(event) => setName(event.currentTarget.value)}
          classNames={{ input: 'mono' }}
        />
        <TextInput
          size="xs"
          aria-label={`Text in ${entry.key}`}
          placeholder="text"
          value={text}
          disabled={disabled}
          onChange={(event) => setText(event.currentTarget.value)}
          classNames={{ input: 'mono' }}
        />
        {name.trim() && text && (
          <Button size="compact-sm" type="submit" loading={busy}>
            Add<span className="visually-hidden"> to {entry.key}</span>
          </Button>
        )}
      </form>
    </div>
  )
}
