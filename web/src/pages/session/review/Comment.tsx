import { Button, Textarea } from '@mantine/core'
import { useState } from 'react'
import { tell } from '@/lib/tell'
import type { Line } from '@/parts/diff-lines'
import { useLink } from '@/state/link'
import { say } from '@/state/outbox'
import { commentText } from './rows'

/** What a person says of a line goes to the agent as a message, with the line. */
export function Comment(props: { session: string; path: string; line: Line; close: () => void }) {
  const [text, setText] = useState('')
  const send = () => {
    if (!text.trim()) return
    say(props.session, commentText(props.path, props.line, text))
    const away = useLink.getState().link.state !== 'open'
    tell({
      tone: 'plain',
      title: away ? 'Kept for the agent' : 'Sent to the agent',
      text: `It reads your comment on ${props.path} ${away ? 'when the daemon is back' : 'next'}.`,
    })
    props.close()
  }
  return (
    <form
      className="review-comment"
      onSubmit={(event) => {
        event.preventDefault()
        send()
      }}
    >
      <Textarea
        aria-label="Comment to the agent"
        placeholder="Say what should be different. The agent gets it with this line."
        autosize
        minRows={2}
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === 'Escape') props.close()
          if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) send()
        }}
        autoFocus
      />
      <div className="review-comment-actions">
        <Button size="compact-sm" variant="default" onClick={props.close}>
          Cancel
        </Button>
        <Button size="compact-sm" type="submit" disabled={!text.trim()}>
          Send to the agent
        </Button>
      </div>
    </form>
  )
}
