import { Button } from '@mantine/core'
import { IconArrowLeft } from '@tabler/icons-react'
import { useMutation } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { messageOf } from '@/lib/ask'
import './listing.css'

/** What a person sets off: `busy` while it goes on, and a refusal stays as its `problem` until the next try. */
export function useSubmit<T = void>(work: (given: T) => Promise<void>) {
  const { mutate, isPending, error } = useMutation<void, unknown, T>({ mutationFn: work, networkMode: 'always' })
  return { submit: mutate, busy: isPending, problem: error === null ? '' : messageOf(error) }
}

/** Fields, and the button below them that does what they are for. */
export function Form(props: {
  work: () => Promise<void>
  action: string
  ready: boolean
  leave: () => void
  back?: boolean
  children: ReactNode
}) {
  const { submit, busy, problem } = useSubmit(props.work)
  return (
    <form
      className="form"
      onSubmit={(event) => {
        event.preventDefault()
        submit()
      }}
    >
      {props.children}
      <Problem text={problem} />
      <div className="form-actions">
        <Button
          variant="default"
          leftSection={props.back ? <IconArrowLeft size={14} /> : undefined}
          onClick={props.leave}
        >
          {props.back ? 'Back' : 'Cancel'}
        </Button>
        <Button type="submit" loading={busy} disabled={!props.ready}>
          {props.action}
        </Button>
      </div>
    </form>
  )
}

export function Problem({ text }: { text: string }) {
  if (!text) return null
  return (
    <p className="form-problem" role="alert">
      {text}
    </p>
  )
}
