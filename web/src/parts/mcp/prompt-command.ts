import type { McpPrompt } from '@/protocol/types'

export const commandName = ({ server, name }: McpPrompt): string => `/${server}:${name}`

/** What a person would type for a prompt that is filled in so. */
export function promptCommand(prompt: McpPrompt, values: Record<string, string>): string {
  const given = (prompt.arguments ?? [])
    .map(({ name }) => [name, values[name]?.trim() ?? ''] as const)
    .filter(([, value]) => value !== '')
    .map(([name, value]) => word(`${name}=${value}`))
  return [commandName(prompt), ...given].join(' ')
}

/** One word, as the daemon reads words: quotes keep together what has spaces in it. */
function word(text: string): string {
  if (!/[\s"']/.test(text)) return text
  return text.includes("'") ? `"${text.replaceAll('"', '\\"')}"` : `'${text}'`
}

/** Whether all is given without which the prompt cannot be filled in. */
export function isFilled({ arguments: asked = [] }: McpPrompt, values: Record<string, string>): boolean {
  return asked.every(({ name, required }) => !required || values[name]?.trim())
}

/** The `{parameters}` of an address. */
export function parametersOf(uri: string): string[] {
  return [...new Set([...uri.matchAll(/\{([\w.-]+)\}/g)].map((found) => found[1] ?? ''))]
}

/** The address with its parameters filled in. */
export function filledAddress(uri: string, values: Record<string, string>): string {
  return uri.replaceAll(/\{([\w.-]+)\}/g, (whole, name: string) => {
    const value = values[name]?.trim()
    return value ? encodeURIComponent(value) : whole
  })
}
