import { Button, Select } from '@mantine/core'
import { IconDeviceDesktop, IconKey, IconLogin2, IconRoute, IconServer2, IconWorld } from '@tabler/icons-react'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { bytes } from '@/lib/format'
import { tell } from '@/lib/tell'
import { Modal } from '@/parts/Dialog'
import { useSubmit } from '@/parts/Form'
import { HowFar, usePulled } from '@/parts/HowFar'
import { KeyFields } from '@/parts/KeyFields'
import { whose } from '@/parts/keys'
import { LoginDialog } from '@/parts/LoginDialog'
import { ProviderForm } from '@/parts/ProviderForm'
import type { FoundKey, KeyLook, LocalServer, LoginOffer, OfflineOffer } from '@/protocol/types'
import { daemon } from '@/state/daemon'
import { Tile } from './Tile'

/** Called with the model that answers from now on. */
export type Chosen = (model: string) => Promise<void>

const WHERE = {
  environment: 'In the daemon’s environment',
  vault: 'Kept in the vault',
  config: 'In the configuration',
} as const

const nameOf = (model: string) => model.slice(model.indexOf('/') + 1)

export function KeyTile({ found, chosen, first }: { found: FoundKey; chosen: Chosen; first: boolean }) {
  const { submit, busy, problem } = useSubmit(async () => {
    await chosen((await daemon.request('setup.use', { provider: found.provider })).model)
  })
  return (
    <Tile
      icon={<IconKey size={18} />}
      title={found.variable || `${found.title} key`}
      note={
        <>
          {WHERE[found.source]} · <span className="mono">{nameOf(found.model)}</span>
        </>
      }
      problem={problem}
      action={{ label: 'Use it', hidden: `the key of ${found.title}`, run: submit, busy, strong: first }}
    />
  )
}

export function ServerTile({ server, chosen, first }: { server: LocalServer; chosen: Chosen; first: boolean }) {
  const models = server.models ?? []
  const [model, setModel] = useState(models[0]?.name ?? '')
  const { submit, busy, problem } = useSubmit(async () => {
    const url = server.configured ? '' : server.url
    await chosen((await daemon.request('setup.use', { provider: server.provider, model, url })).model)
  })
  const where = server.url.replace(/^https?:\/\//, '').replace(/\/v1\/?$/, '')
  if (models.length === 0)
    return (
      <Tile
        icon={<IconServer2 size={18} />}
        title={server.title}
        note={
          <>
            At <span className="mono">{where}</span>, with no model yet.{' '}
            {server.provider === 'ollama' ? (
              <>
                Run <code>ollama pull qwen3</code>, then look again.
              </>
            ) : (
              'Load one in it, then look again.'
            )}
          </>
        }
      />
    )
  return (
    <Tile
      icon={<IconServer2 size={18} />}
      title={server.title}
      note={
        <>
          At <span className="mono">{where}</span>
          {models.length === 1 && (
            <>
              {' '}
              · <span className="mono">{model}</span>
            </>
          )}
        </>
      }
      problem={problem}
      action={{ label: 'Use it', hidden: server.title, run: submit, busy, strong: first }}
    >
      {models.length > 1 && (
        <Select
          size="xs"
          aria-label={`Model of ${server.title}`}
          data={models.map(({ name, note }) => ({ value: name, label: note ? `${name} · ${note}` : name }))}
          value={model}
          onChange={(value) => setModel(value ?? models[0]!.name)}
          allowDeselect={false}
          searchable
        />
      )}
    </Tile>
  )
}

export function LoginTile({ login, chosen }: { login: LoginOffer; chosen: Chosen }) {
  const [open, setOpen] = useState(false)
  const use = async () => chosen((await daemon.request('setup.use', { provider: login.provider })).model)
  const { submit, busy, problem } = useSubmit(use)
  return (
    <Tile
      icon={<IconLogin2 size={18} />}
      title={login.done ? login.provider : `Log in to ${login.provider}`}
      note={login.done ? 'Logged in' : 'With your account, in the browser'}
      problem={problem}
      action={
        login.done
          ? { label: 'Use it', hidden: login.provider, run: submit, busy }
          : { label: 'Log in', hidden: `to ${login.provider}`, run: () => setOpen(true) }
      }
    >
      <Modal opened={open} onClose={() => setOpen(false)} title={`Log in to ${login.provider}`} size="lg" centered>
        {open && (
          <LoginDialog
            begin={() => daemon.request('auth.login', { provider: login.provider })}
            finish={(id, answer) => daemon.request('auth.login.finish', { login: id, answer })}
            ended={use}
            done={() => setOpen(false)}
          />
        )}
      </Modal>
    </Tile>
  )
}

export function PasteTile({ looks, chosen, first }: { looks: KeyLook[]; chosen: Chosen; first: boolean }) {
  const [key, setKey] = useState('')
  const [provider, setProvider] = useState('')
  const known = whose(looks, key)
  const { submit, busy, problem } = useSubmit(async () => {
    await chosen((await daemon.request('setup.key', { key, provider: known ? '' : provider })).model)
  })
  const ready = key.trim() !== '' && (known !== null || provider !== '')
  return (
    <Tile
      icon={<IconKey size={18} />}
      title="Paste an API key"
      note="Of Anthropic, OpenAI, Google, OpenRouter, Groq or xAI. Trying it costs nothing; a wrong one is not kept."
      problem={problem}
      wide
    >
      <form
        className="tile-form"
        onSubmit={(event) => {
          event.preventDefault()
          if (ready) submit()
        }}
      >
        <KeyFields looks={looks} value={key} change={setKey} provider={provider} setProvider={setProvider} />
        <Button type="submit" variant={first ? 'filled' : 'default'} loading={busy} disabled={!ready}>
          Try it
        </Button>
      </form>
    </Tile>
  )
}

export function OwnServerTile({ chosen }: { chosen: Chosen }) {
  const [open, setOpen] = useState(false)
  return (
    <Tile
      icon={<IconWorld size={18} />}
      title="A server of your own"
      note="Ollama, vLLM, or whatever else speaks OpenAI’s format, at any address."
      action={{ label: 'Give its address', run: () => setOpen(true) }}
    >
      <Modal opened={open} onClose={() => setOpen(false)} title="A server of your own" size="lg" keepMounted={false}>
        <ProviderForm
          leave={() => setOpen(false)}
          added={async ({ name }) => {
            const { model } = await daemon.request('setup.use', { provider: name })
            setOpen(false)
            await chosen(model)
          }}
        />
      </Modal>
    </Tile>
  )
}

export function OfflineTile({ offer, chosen }: { offer: OfflineOffer; chosen: Chosen }) {
  const { submit, busy, problem } = useSubmit(async () => {
    if (!offer.installed) await daemon.request('models.pull', { name: offer.name })
    await chosen((await daemon.request('setup.use', { provider: 'local', model: offer.name })).model)
  })
  const progress = usePulled(offer.name)
  const { done_bytes: done = 0, total_bytes: total = 0 } = progress ?? {}
  return (
    <Tile
      icon={<IconDeviceDesktop size={18} />}
      title="Offline model"
      note={
        offer.installed
          ? 'Here already. It chats; it cannot use tools.'
          : `${bytes(offer.size_bytes)} to fetch, then no network is needed. It chats; it cannot use tools.`
      }
      problem={problem}
      action={{ label: offer.installed ? 'Use it' : 'Fetch it', hidden: 'the offline model', run: submit, busy }}
    >
      {busy && progress && (
        <HowFar stage={progress.stage} done={done} total={total} measure={`${bytes(done)} of ${bytes(total)}`} />
      )}
    </Tile>
  )
}

export function TourTile({ done }: { done: () => void }) {
  const navigate = useNavigate()
  const { submit, busy, problem } = useSubmit(async () => {
    const tour = await daemon.request('setup.tour', {})
    const settings = { model: tour.model, mode: 'full' as const }
    const { id } = await daemon.request('session.create', { cwd: tour.cwd, name: 'guided tour', settings })
    done()
    await navigate({ to: '/sessions/$id', params: { id } })
    await daemon.request('message.send', { session: id, text: tour.prompt })
    tell({ tone: 'plain', title: 'The guided tour', text: tour.label })
  })
  return (
    <Tile
      icon={<IconRoute size={18} />}
      title="Look around first"
      mark="scripted"
      note="A tour: what the model says was written beforehand, the tools and their results are real."
      problem={problem}
      action={{ label: 'Take the tour', run: submit, busy }}
    />
  )
}
