import { Button, TextInput } from '@mantine/core'
import { useState } from 'react'
import { act, useAsk } from '@/lib/ask'
import { useLive, useRenew } from '@/lib/live'
import { Ago } from '@/parts/Ago'
import { safeAddress } from '@/parts/safe-address'

/** What happened with a task, the newest last, and a line to write into it. */
export function TaskLog({ task }: { task: string }) {
  useLive(['task.updated'], 'task.log')
  const renew = useRenew('task.log')
  const log = useAsk('task.log', { task })
  const [text, setText] = useState('')
  const [busy, setBusy] = useState(false)
  const write = async () => {
    setBusy(true)
    if (await act('task.note', { task, text })) {
      setText('')
      await renew()
    }
    setBusy(false)
  }
  return (
    <section aria-label="Progress" className="task-progress">
      <h3>Progress</h3>
      <ol className="task-log">
        {(log.data?.entries ?? []).map((entry, index) => (
          // The log only grows: a place in it stands for the same words.
          <li key={index}>
            <span className="dim">
              <Ago at={entry.at} />
            </span>
            <span className="task-entry">
              <WithAddresses text={entry.text} />
            </span>
          </li>
        ))}
      </ol>
      <div className="task-note">
        <TextInput
          aria-label="Note"
          placeholder="What happened?"
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key !== 'Enter' || event.metaKey || event.ctrlKey) return
            event.preventDefault()
            if (text.trim()) void write()
          }}
        />
        <Button variant="default" disabled={!text.trim()} loading={busy} onClick={() => void write()}>
          Note it
        </Button>
      </div>
    </section>
  )
}

export function TaskLink({ address }: { address: string }) {
  const safe = safeAddress(address)
  if (!safe) return <span className="mono">{address}</span>
  return (
    <a href={safe} target="_blank" rel="noreferrer noopener">
      {address}
    </a>
  )
}

function WithAddresses({ text }: { text: string }) {
  const parts = text.split(/(https?:\/\/[^\s<>)]+[^\s<>).,])/)
  return parts.map((part, index) => (index % 2 ? <TaskLink key={index} address={part} /> : part))
}
