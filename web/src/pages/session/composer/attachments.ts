import type { UserParts } from '@/state/outbox'

type ImagePart = Extract<UserParts[number], { type: 'image' }>

/** A picture or a text that goes with the message. */
export interface Attachment {
  id: number
  name: string
  size: number
  part: UserParts[number]
}

/** What every provider takes, and a browser shows as a picture and nothing else. */
const PICTURES = ['image/png', 'image/jpeg', 'image/gif', 'image/webp']
export const LARGEST_PICTURE = 5_000_000
export const LARGEST_TEXT = 256_000

let count = 0

/** What the file becomes in a message. Throws words for the person. */
export async function attach(file: File): Promise<Attachment> {
  const known = { id: ++count, name: file.name || 'pasted', size: file.size }
  if (PICTURES.includes(file.type)) {
    if (file.size > LARGEST_PICTURE) throw new Error(`${known.name} has ${inMegabytes(file.size)}; 5 MB is the most.`)
    return { ...known, part: { type: 'image', media_type: file.type, data: await base64(file) } }
  }
  if (file.size > LARGEST_TEXT)
    throw new Error(
      `${known.name} has ${inMegabytes(file.size)}. Up to 256 kB of text can be attached; put a larger file into the folder and name it with @.`,
    )
  const text = textIn(new Uint8Array(await file.arrayBuffer()))
  if (text === null) throw new Error(`${known.name} is neither a text nor a picture (PNG, JPEG, GIF, WebP).`)
  return { ...known, part: { type: 'text', text: quoted(known.name, text) } }
}

export function imagesOf(attached: Attachment[]): ImagePart[] {
  return attached.flatMap(({ part }) => (part.type === 'image' ? [part] : []))
}

/** One that was kept over a reload: numbers of then may be taken by others now. */
export function attachedAgain(one: Attachment): Attachment {
  return { ...one, id: ++count }
}

/** A picture of an earlier message, to be sent again. */
export function attachedImage(part: ImagePart): Attachment {
  return { id: ++count, name: 'picture', size: Math.round((part.data.length * 3) / 4), part }
}

function textIn(bytes: Uint8Array): string | null {
  if (bytes.includes(0)) return null
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return null
  }
}

/** With a fence that nothing in the text ends. */
export function quoted(name: string, text: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`{3,}/g)].map(([fence]) => fence.length))
  const fence = '`'.repeat(longest + 1)
  return `The file ${name}:\n${fence}\n${text.replace(/\n$/, '')}\n${fence}`
}

function inMegabytes(size: number): string {
  return `${(size / 1e6).toFixed(1)} MB`
}

function base64(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader()
    reader.onload = () => resolve(String(reader.result).split(',')[1] ?? '')
    reader.onerror = () => reject(reader.error)
    reader.readAsDataURL(file)
  })
}
