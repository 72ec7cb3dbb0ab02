import type { EndedTurn } from '@/protocol/types'

interface Words {
  text: string
  next: string
}

const WORDS: Record<EndedTurn['reason'], Words> = {
  done: { text: 'Done.', next: '' },
  cancelled: { text: 'Stopped.', next: 'Retry to continue, or send a message.' },
  interrupted: {
    text: 'Interrupted: the daemon stopped in the middle of it.',
    next: 'Retry to continue, or send a message.',
  },
  step_limit: { text: 'Stopped at the limit of steps.', next: 'Retry to continue, or raise max_steps.' },
  time_limit: { text: 'Stopped: its time was up.', next: 'Retry to continue, or raise turn_timeout.' },
  budget: { text: 'Stopped: the budget does not cover the next request.', next: 'Raise the budget, then retry.' },
  loop: {
    text: 'Stopped: the model made the same call again and again.',
    next: 'Say what it should do instead.',
  },
  max_tokens: {
    text: 'The answer was cut off at the longest that is allowed.',
    next: 'Retry to continue, or raise max_output_tokens.',
  },
  refused: { text: 'The model refused to answer.', next: 'Say it in other words, or choose another model.' },
  error: { text: 'Failed.', next: '' },
}

/** A turn that ended like this was cut short: a retry goes on with it (protocol/words.py). */
export function mayContinue(reason: EndedTurn['reason']): boolean {
  return reason !== 'done' && reason !== 'refused'
}

/** What became of a turn, and what to do next: the same words as in the terminal (protocol/words.py). */
export function wordsForEnd(end: EndedTurn): Words {
  const { text, next } = WORDS[end.reason]
  const told = end.error?.message
    ? end.reason === 'error'
      ? `Failed: ${end.error.message}`
      : end.error.message
    : end.reason === 'cancelled' && end.by
      ? `Stopped from ${end.by}.`
      : text
  return { text: told, next: end.error?.hint || next }
}
