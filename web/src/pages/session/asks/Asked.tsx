import { Button, TextInput } from '@mantine/core'
import { useRef, useState } from 'react'
import { act } from '@/lib/ask'
import type { Question } from '@/protocol/types'
import { type Binding, useKeysAbove } from '@/shell/shortcuts'
import './asks.css'
import { type KeysCount, ownKeys, useAttention, useSettled } from './keys'

interface Props {
  session: string
  question: Question
  behind: number
  keys: KeysCount
}

/** Something the agent wants to know. */
export function Asked({ session, question, behind, keys }: Props) {
  const [own, setOwn] = useState('')
  const choices = question.choices ?? []
  const answer = (text: string) => void act('question.answer', { session, question: question.id, answer: text })
  const box = useRef<HTMLElement>(null)
  const settled = useSettled()
  useAttention(box, keys)
  const bindings: Binding[] = [
    ...choices.slice(0, 9).map((choice, index) => ({
      keys: String(index + 1),
      what: `Answer: ${choice}`,
      run: settled(() => answer(choice)),
    })),
    // Nothing is denied by not answering; it only must not stop the turn.
    { keys: 'escape', what: 'Leave the question', run: () => box.current?.blur() },
  ]
  useKeysAbove('A question', keys === 'page' ? bindings : [])
  return (
    <section
      ref={box}
      className="ask ask-question"
      tabIndex={-1}
      aria-label="The agent asks"
      aria-live="assertive"
      onKeyDown={ownKeys(bindings)}
    >
      <header className="ask-head">
        <strong>{question.text}</strong>
        {behind > 0 && <span className="dim">{behind} more</span>}
      </header>
      <div className="ask-actions">
        {choices.map((choice, index) => (
          <Button
            key={choice}
            size="xs"
            variant="default"
            onClick={() => answer(choice)}
            rightSection={index < 9 ? <kbd>{index + 1}</kbd> : undefined}
          >
            {choice}
          </Button>
        ))}
      </div>
      <form
        className="ask-deny"
        onSubmit={(event) => {
          event.preventDefault()
          if (own.trim()) answer(own.trim())
        }}
      >
        <TextInput
          aria-label="Your answer"
          placeholder={choices.length > 0 ? 'Or answer in your own words' : 'Your answer'}
          value={own}
          onChange={(event) => setOwn(event.currentTarget.value)}
        />
        <Button type="submit" size="xs" disabled={!own.trim()}>
          Answer
        </Button>
      </form>
    </section>
  )
}
