import { useAsk } from '@/lib/ask'
import type { PermissionAsk } from '@/protocol/types'

/** The rule that asks, step by step for a command of several. */
export function Why({ ask, cwd }: { ask: PermissionAsk; cwd: string }) {
  const command = typeof ask.arguments.command === 'string' ? ask.arguments.command : ''
  const explained = useAsk('policy.explain', { command, cwd, tool: ask.tool }, { enabled: command !== '' })
  return (
    <div className="ask-why">
      <p>{ask.reason || 'The mode of this session asks before calls like this one.'}</p>
      {ask.enough_mode && (
        <p className="dim">
          In mode <code>{ask.enough_mode}</code> it would run unasked.
        </p>
      )}
      {explained.data && explained.data.steps.length > 0 && (
        <ul>
          {explained.data.steps.map((step) => (
            <li key={step.command}>
              <code>{step.command}</code>: {step.decision}, {step.risk} risk. {step.reason}{' '}
              <span className="dim mono">{step.rule}</span>
            </li>
          ))}
        </ul>
      )}
      {command === '' && <pre className="ask-text">{JSON.stringify(ask.arguments, null, 2)}</pre>}
    </div>
  )
}
