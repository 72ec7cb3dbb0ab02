import { Button, TextInput } from '@mantine/core'
import { useState } from 'react'
import { useAsk } from '@/lib/ask'
import { bytes } from '@/lib/format'
import { CodeBlock } from '@/parts/CodeBlock'
import { Pictures } from '@/parts/Pictures'
import { ErrorState, LoadingRows } from '@/parts/states'
import type { McpResource, McpResourceContent } from '@/protocol/types'
import { filledAddress, parametersOf } from './prompt-command'
import './mcp-parts.css'
import '@/parts/listing.css'

interface Props {
  resource: McpResource
  /** The folder whose server it is. */
  cwd: string
  /** It is mentioned in a message by this address. Without, it is only read. */
  take?: (uri: string) => void
  leave: () => void
}

/** What a server lets one read: looked into before an agent is told of it. An address with parameters is filled in first. */
export function ReadResource({ resource, cwd, take, leave }: Props) {
  const asked = parametersOf(resource.uri)
  const [values, setValues] = useState<Record<string, string>>({})
  const [read, setRead] = useState(asked.length === 0 ? resource.uri : '')
  const uri = filledAddress(resource.uri, values)
  const ready = parametersOf(uri).length === 0
  return (
    <form
      className="form"
      onSubmit={(event) => {
        event.preventDefault()
        if (ready) setRead(uri)
      }}
    >
      <p className="confirm-text">
        <code>{ready ? uri : resource.uri}</code> {resource.description}{' '}
        <span className="dim">of the server {resource.server}</span>
      </p>
      {asked.map((name, at) => (
        <TextInput
          key={name}
          label={name}
          required
          value={values[name] ?? ''}
          onChange={(event) => {
            const { value } = event.currentTarget
            setValues((known) => ({ ...known, [name]: value }))
          }}
          data-autofocus={at === 0 ? true : undefined}
        />
      ))}
      {read && <Contents cwd={cwd} server={resource.server} uri={read} />}
      <div className="form-actions">
        <Button variant="default" onClick={leave}>
          Close
        </Button>
        {asked.length > 0 && (
          <Button type="submit" variant={take ? 'default' : 'filled'} disabled={!ready}>
            Read it
          </Button>
        )}
        {take && (
          <Button disabled={!ready} onClick={() => take(uri)}>
            Put into the message
          </Button>
        )}
      </div>
    </form>
  )
}

function Contents({ cwd, server, uri }: { cwd: string; server: string; uri: string }) {
  const found = useAsk('mcp.resource.read', { cwd, server, uri }, { retry: false })
  if (found.isPending) return <LoadingRows count={3} height={24} />
  if (found.error) return <ErrorState problem={found.error} retry={() => void found.refetch()} />
  return (
    <section className="resource-read" aria-label="What it holds">
      {found.data.contents.length === 0 && <p className="dim">It holds nothing.</p>}
      {found.data.contents.map((one, at) => (
        <Content key={at} one={one} />
      ))}
    </section>
  )
}

function Content({ one }: { one: McpResourceContent }) {
  const { text = '', data = '', media_type: media = '' } = one
  if (!data) return <CodeBlock code={text} language={languageOf(media, one.uri)} note={media || 'text'} />
  if (media.startsWith('image/')) return <Pictures images={[{ type: 'image', media_type: media, data }]} />
  const size = bytes(Math.floor((data.length * 3) / 4))
  return (
    <p className="dim">
      {size} of {media || 'something that is no text'}: not shown here.
    </p>
  )
}

function languageOf(media: string, uri: string): string {
  const ending = /\.(\w+)$/.exec(uri)?.[1]
  if (media.includes('json') || ending === 'json') return 'json'
  if (media.includes('markdown') || ending === 'md') return 'markdown'
  if (/x?html|xml/.test(media)) return 'xml'
  return media === '' || media === 'text/plain' ? (ending ?? '') : ''
}
