import type { Message, MessagePage, SessionInfo, Settings, SettingsChange } from '@/protocol/types'

/** Of the file in which a session is taken along, as `openagent sessions import` reads it. */
export const EXPORT_VERSION = 1

/** Not what an agent may do unasked, nor what it may spend: that is for this machine's owner to say. */
const TAKEN_ALONG = [
  'max_steps',
  'turn_timeout',
  'max_output_tokens',
  'temperature',
  'thinking',
  'instructions',
  'disabled_tools',
  'tools',
] as const satisfies (keyof Settings & keyof SettingsChange)[]

/** The largest message that the daemon takes. */
const LARGEST = 32 * 1024 * 1024

/** A session as a file holds it. */
export interface Exported extends Pick<MessagePage, 'messages' | 'turns' | 'rewound'> {
  session: SessionInfo
}

/** What a file holds. Throws, with a sentence for a person, what is no session. */
export function readExport(name: string, text: string): Exported {
  const found = parsed(name, text)
  if (!isObject(found) || !isObject(found.session) || !Array.isArray(found.messages)) throw notOurs(name)
  if (typeof found.version === 'number' && found.version > EXPORT_VERSION)
    throw new Error(
      `${name} was written by a newer OpenAgent: version ${found.version}, and this one reads ${EXPORT_VERSION}.`,
    )
  if (found.messages.length === 0) throw new Error(`${name} has no messages in it, so there is nothing to import.`)
  if (!found.messages.every(isMessage) || typeof found.session.id !== 'string') throw notOurs(name)
  if (text.length > LARGEST)
    throw new Error(`${name} holds ${text.length >> 20} MB of conversation; ${LARGEST >> 20} MB can be imported.`)
  return found as unknown as Exported
}

/** What `session.import` is given of it, besides the folder it goes on in. */
export function importOf({ session, messages, turns, rewound }: Exported) {
  return {
    messages,
    origin: session.id,
    name: session.name ?? '',
    created_at: session.created_at ?? 0,
    turns: turns ?? [],
    rewound: rewound ?? [],
    usage: session.usage ?? null,
    settings: settingsOf(session),
  }
}

function settingsOf({ settings = {}, model }: SessionInfo): SettingsChange {
  const chosen = TAKEN_ALONG.filter((name) => settings[name] !== undefined && settings[name] !== null)
  const answering = settings.model || model
  return {
    ...Object.fromEntries(chosen.map((name) => [name, settings[name]])),
    ...(answering ? { model: answering } : {}),
  }
}

function parsed(name: string, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw notOurs(name)
  }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const isMessage = (value: unknown): value is Message =>
  isObject(value) && typeof value.number === 'number' && typeof value.role === 'string' && Array.isArray(value.parts)

const notOurs = (name: string) =>
  new Error(`${name} is no session of OpenAgent. Choose the file that “All of it (JSON)” in a session’s menu wrote.`)
