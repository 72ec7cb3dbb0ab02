import type { Mode } from '@/lib/modes'
import type { SessionInfo, SettingsChange, Template } from '@/protocol/types'

/** What the form holds: every field, as it would be. */
export interface Draft {
  instructions: string
  replace_prompt: boolean
  mode: Mode
  budget_usd: number | null
  budget_tokens: number | null
  temperature: number | null
  max_output_tokens: number | null
  max_steps: number
  turn_timeout: number | null
}

const USUAL_STEPS = 200

export function draftOf({ settings = {} }: Pick<SessionInfo, 'settings'>): Draft {
  return {
    instructions: settings.instructions ?? '',
    replace_prompt: settings.replace_prompt ?? false,
    mode: settings.mode ?? 'ask',
    budget_usd: settings.budget_usd ?? null,
    budget_tokens: settings.budget_tokens ?? null,
    temperature: settings.temperature ?? null,
    max_output_tokens: settings.max_output_tokens ?? null,
    max_steps: settings.max_steps ?? USUAL_STEPS,
    turn_timeout: settings.turn_timeout ?? null,
  }
}

/** Only what is another now: the rest stays, also when somebody else changes it meanwhile. */
export function changed(before: Draft, now: Draft): SettingsChange {
  const names = Object.keys(now) as (keyof Draft)[]
  return Object.fromEntries(names.filter((name) => now[name] !== before[name]).map((name) => [name, now[name]]))
}

/** What a template says about a session; what it leaves open stays as it is. */
export function fromTemplate(template: Template): Partial<Draft> {
  const said: { [name in keyof Draft]?: Draft[name] | null | undefined } = {
    instructions: template.prompt,
    replace_prompt: template.replace_prompt,
    mode: template.mode,
    budget_usd: template.budget_usd,
    max_steps: template.max_steps,
    turn_timeout: template.timeout,
  }
  return Object.fromEntries(
    Object.entries(said).filter(([, value]) => value !== null && value !== undefined && value !== ''),
  )
}
