import { Refusal } from '@/connection/connection'

export interface WayOn {
  to: string
  label: string
}

/** Where to go when nothing answers for want of a model, a key or a provider; null: it is about something else. */
export function wayOn(problem: unknown): WayOn | null {
  const info = problem instanceof Refusal ? problem.info : (problem as { code?: string; message?: string } | null)
  const message = info?.message ?? ''
  if (info?.code === 'model_not_found' && message.startsWith('No model'))
    return { to: '/welcome', label: 'Choose what should answer' }
  if (info?.code === 'config_error' && /^(No model|There is no provider named)/.test(message))
    return { to: '/welcome', label: 'Choose what should answer' }
  if (info?.code === 'auth_failed') return { to: '/auth', label: 'See keys and logins' }
  return null
}
