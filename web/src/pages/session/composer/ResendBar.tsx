import { Button, Checkbox, CloseButton, Select } from '@mantine/core'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { act, useAsk } from '@/lib/ask'
import { answering, modelName } from '@/lib/format'
import { tell } from '@/lib/tell'
import type { SessionInfo } from '@/protocol/types'
import { isRunning } from '@/state/conversation'
import { say, type UserParts } from '@/state/outbox'
import { leaveResend, type Resend } from './resend'

interface Props {
  info: SessionInfo
  one: Resend
  /** What stands in the input now. */
  text: string
  parts: UserParts
  /** It was sent: the input is free again. */
  done: () => void
}

/** Says an earlier message again: from there on in this session, or in a fork that leaves this one as it is. */
export default function ResendBar({ info, one, text, parts, done }: Props) {
  const navigate = useNavigate()
  const [model, setModel] = useState(answering(info))
  const [files, setFiles] = useState(true)
  const [busy, setBusy] = useState(false)
  const models = useAsk('models.list', { cwd: info.cwd }, { staleTime: 300_000 })
  const names = [...new Set([answering(info), ...(models.data?.models ?? []).map(({ name }) => name)])].filter(Boolean)
  const running = isRunning(info)
  const empty = !text.trim() && parts.length === 0

  const sendTo = async (session: string) => {
    if (model && model !== answering(info) && !(await act('session.update', { session, settings: { model } })))
      return false
    say(session, text.trim(), parts)
    done()
    return true
  }
  const back = async () => {
    const gone = await act('session.undo', { session: info.id, turn: one.turn, files, conversation: true })
    if (!gone || !(await sendTo(info.id))) return
    const left = [...(gone.others ?? []).map(({ path }) => path), ...(gone.kept ?? [])]
    if (left.length > 0) tell({ tone: 'warn', title: 'Some files stayed as they are', text: left.join(', ') })
  }
  const fork = async () => {
    const name = `${info.name || 'session'} (fork)`
    const made = await act('session.fork', { session: info.id, through: one.number - 1, name })
    if (made && (await sendTo(made.id))) void navigate({ to: '/sessions/$id', params: { id: made.id } })
  }
  const doing = (run: () => Promise<void>) => async () => {
    setBusy(true)
    await run()
    setBusy(false)
  }
  return (
    <section className="resend" aria-label="Say it again">
      <div className="resend-head">
        <strong>Say it again from turn {one.turn}</strong>
        <CloseButton size="sm" aria-label="Leave it as it was" onClick={leaveResend} />
      </div>
      <div className="resend-what">
        <Select
          size="xs"
          label="Model from there on"
          searchable
          allowDeselect={false}
          value={model}
          onChange={(chosen) => chosen && setModel(chosen)}
          data={names.map((name) => ({ value: name, label: `${modelName(name)} · ${name.split('/')[0]}` }))}
          placeholder="as configured"
          nothingFoundMessage="No model is called that."
        />
        <Checkbox
          size="xs"
          label="Files go back too"
          checked={files}
          onChange={(event) => setFiles(event.currentTarget.checked)}
        />
      </div>
      {running && <p className="dim resend-note">A turn is running: stop it to go back, or send in a fork.</p>}
      <div className="resend-actions">
        <span className="dim resend-note">
          What came after can be brought back; a fork leaves this session as it is.
        </span>
        <Button size="xs" variant="default" loading={busy} disabled={empty} onClick={doing(fork)}>
          Send in a fork
        </Button>
        <Button size="xs" loading={busy} disabled={empty || running} onClick={doing(back)}>
          Go back and send
        </Button>
      </div>
    </section>
  )
}
