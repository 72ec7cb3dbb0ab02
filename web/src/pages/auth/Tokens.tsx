import { ActionIcon, Button, Checkbox, Select, Textarea, TextInput } from '@mantine/core'
import { IconPlus, IconTrash } from '@tabler/icons-react'
import { useState } from 'react'
import { act, useAsk } from '@/lib/ask'
import { exactTime } from '@/lib/format'
import { useRenew } from '@/lib/live'
import { Ago } from '@/parts/Ago'
import { CopyButton } from '@/parts/CodeBlock'
import { Confirm } from '@/parts/Confirm'
import { Modal } from '@/parts/Dialog'
import { Form } from '@/parts/Form'
import { Chip, Quiet, Row, Rows, Section } from '@/parts/Listing'
import { ErrorState, LoadingRows } from '@/parts/states'
import { Tip } from '@/parts/Tip'
import type { TokenCreated, TokenInfo } from '@/protocol/types'
import { daemon } from '@/state/daemon'

type Scope = TokenInfo['scopes'][number]

const SCOPES: [Scope, string][] = [
  ['read', 'See sessions, files and figures'],
  ['chat', 'Start sessions and talk to agents'],
  ['approve', 'Answer what agents ask permission for'],
  ['admin', 'Everything there; keys and settings too with the folder /'],
]
const DAY = 86_400
const LIFETIMES = [
  { value: String(DAY), label: 'one day' },
  { value: String(30 * DAY), label: '30 days' },
  { value: String(365 * DAY), label: 'one year' },
  { value: 'none', label: 'without an end' },
]

export function Tokens() {
  const tokens = useAsk('tokens.list', {})
  const [creating, setCreating] = useState(false)
  const found = [...(tokens.data?.tokens ?? [])].sort((one, other) => (other.created_at ?? 0) - (one.created_at ?? 0))
  const create = (
    <Button size="xs" variant="default" leftSection={<IconPlus size={16} />} onClick={() => setCreating(true)}>
      New token
    </Button>
  )
  return (
    <Section
      title="Access tokens"
      about="For scripts and programs that use the REST API or connect from elsewhere. Browsers that are logged in stand here too."
      actions={found.length > 0 && create}
    >
      {tokens.isPending ? (
        <LoadingRows count={2} height={52} />
      ) : tokens.error ? (
        <ErrorState problem={tokens.error} retry={() => void tokens.refetch()} />
      ) : found.length === 0 ? (
        <Quiet action={create}>
          Nothing but this machine’s own user can reach the daemon. A token lets a program in.
        </Quiet>
      ) : (
        <Rows label="Access tokens">
          {found.map((token) => (
            <TokenRow key={token.id} token={token} />
          ))}
        </Rows>
      )}
      <Modal opened={creating} onClose={() => setCreating(false)} title="New token" closeOnClickOutside={false}>
        <CreateToken done={() => setCreating(false)} />
      </Modal>
    </Section>
  )
}

function TokenRow({ token }: { token: TokenInfo }) {
  const renew = useRenew('tokens.list')
  const [revoking, setRevoking] = useState(false)
  return (
    <Row
      name={token.name || token.id}
      chips={
        <>
          {token.kind === 'browser' && <Chip tone="accent">browser</Chip>}
          {token.scopes.map((scope) => (
            <Chip key={scope}>{scope}</Chip>
          ))}
        </>
      }
      about={
        <>
          {token.created_at ? (
            <>
              Made <Ago at={token.created_at} /> ago
              {' · '}
            </>
          ) : null}
          {token.expires_at ? `ends ${exactTime(token.expires_at)}` : 'has no end'}
          {' · '}
          {below(token.roots)}
        </>
      }
      figures={
        <span>
          {token.last_used_at ? (
            <>
              used <Ago at={token.last_used_at} />
            </>
          ) : (
            'never used'
          )}
        </span>
      }
      actions={
        <Tip label="Revoke">
          <ActionIcon
            variant="subtle"
            color="gray"
            aria-label={`Revoke ${token.name || token.id}`}
            onClick={() => setRevoking(true)}
          >
            <IconTrash size={16} />
          </ActionIcon>
        </Tip>
      }
    >
      <Confirm
        opened={revoking}
        close={() => setRevoking(false)}
        title={`Revoke ${token.name || token.id}?`}
        action="Revoke"
        run={async () => {
          await act('tokens.revoke', { token: token.id })
          await renew()
        }}
      >
        Whoever is connected with it is cut off at once
        {token.kind === 'browser' && ', this browser too if it is the one'}.
      </Confirm>
    </Row>
  )
}

function below(roots: string[] | undefined): string {
  if (!roots?.length) return 'works in no folder'
  return roots.includes('/') ? 'works in every folder' : `works below ${roots.join(', ')}`
}

function CreateToken({ done }: { done: () => void }) {
  const renew = useRenew('tokens.list')
  const [name, setName] = useState('')
  const [scopes, setScopes] = useState<Scope[]>(['read'])
  const [folders, setFolders] = useState('')
  const [lifetime, setLifetime] = useState(String(30 * DAY))
  const [made, setMade] = useState<TokenCreated | null>(null)
  const create = async () => {
    const expires_in = lifetime === 'none' ? null : Number(lifetime)
    const roots = folders.split('\n').flatMap((folder) => folder.trim() || [])
    setMade(await daemon.request('tokens.create', { name: name.trim(), scopes, roots, expires_in }))
    await renew()
  }
  if (made)
    return (
      <div className="form">
        <TextInput
          label="The token"
          description="Shown this once: it cannot be read back."
          readOnly
          value={made.secret}
          classNames={{ input: 'mono' }}
          onFocus={(event) => event.currentTarget.select()}
          rightSection={<CopyButton text={made.secret} />}
        />
        <div className="form-actions">
          <Button onClick={done}>Done</Button>
        </div>
      </div>
    )
  return (
    <Form
      work={create}
      action="Create"
      ready={name.trim() !== '' && scopes.length > 0 && folders.trim() !== ''}
      leave={done}
    >
      <TextInput
        label="Name"
        description="What it is for."
        placeholder="nightly build"
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
        required
        data-autofocus
      />
      <Checkbox.Group label="May" value={scopes} onChange={(value) => setScopes(value as Scope[])}>
        <div className="auth-scopes">
          {SCOPES.map(([scope, words]) => (
            <Checkbox key={scope} value={scope} label={scope} description={words} />
          ))}
        </div>
      </Checkbox.Group>
      <Textarea
        label="Works below"
        description="Whole paths of folders, one a line; / for all. Nothing elsewhere exists for it."
        placeholder="/home/me/project"
        value={folders}
        onChange={(event) => setFolders(event.currentTarget.value)}
        autosize
        required
        classNames={{ input: 'mono' }}
      />
      <Select
        label="Lasts"
        data={LIFETIMES}
        value={lifetime}
        onChange={(value) => setLifetime(value ?? lifetime)}
        allowDeselect={false}
      />
    </Form>
  )
}
