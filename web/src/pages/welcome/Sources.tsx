import { Button } from '@mantine/core'
import { IconRefresh } from '@tabler/icons-react'
import type { ReactNode } from 'react'
import { useAsk } from '@/lib/ask'
import { useRenew } from '@/lib/live'
import { ErrorState, LoadingRows } from '@/parts/states'
import type { FoundHistory, ModelSources } from '@/protocol/types'
import { TheirsTile } from './TheirsTile'
import { type Chosen, KeyTile, LoginTile, OfflineTile, OwnServerTile, PasteTile, ServerTile, TourTile } from './tiles'
import '@/parts/listing.css'
import './welcome.css'

/** Everything that could answer on this machine, one step away each, the best to begin with first. */
export function Sources({ chosen, done }: { chosen: (model: string) => void; done: () => void }) {
  const look = useAsk('setup.look', {}, { staleTime: 0 })
  // Who may not ask for it, or whose home cannot be read, chooses a model all the same.
  const theirs = useAsk('history.find', {}, { retry: false })
  const renew = useRenew('setup.show', 'setup.look', 'daemon.status', 'models.list', 'auth.list', 'config.show')
  const keep: Chosen = async (model) => {
    await renew()
    chosen(model)
  }
  if (look.isPending || theirs.isPending)
    return (
      <>
        <p className="dim welcome-looking" role="status">
          Looking for keys and model servers on the daemon’s machine …
        </p>
        <LoadingRows count={3} height={88} />
      </>
    )
  if (look.error) return <ErrorState problem={look.error} retry={() => void look.refetch()} />
  return (
    <Found
      sources={look.data}
      theirs={theirs.data}
      chosen={keep}
      done={done}
      again={() => void look.refetch()}
      busy={look.isFetching}
    />
  )
}

interface FoundProps {
  sources: ModelSources
  theirs: FoundHistory | undefined
  chosen: Chosen
  done: () => void
  again: () => void
  busy: boolean
}

function Found(props: FoundProps) {
  const { sources, theirs, chosen } = props
  const able = sources.servers.filter(({ models }) => models && models.length > 0)
  const unable = sources.servers.filter(({ models }) => !models || models.length === 0)
  const loggedIn = sources.logins.filter(({ done }) => done)
  const any = sources.keys.length + able.length + loggedIn.length > 0
  return (
    <>
      {theirs && theirs.agents.length > 0 && (
        <Group title="Left by other agents">
          <ul className="tiles">
            <TheirsTile found={theirs} />
          </ul>
        </Group>
      )}
      <Group
        title="Found here"
        action={
          <Button
            size="compact-sm"
            variant="subtle"
            leftSection={<IconRefresh size={14} />}
            loading={props.busy}
            onClick={props.again}
          >
            Look again
          </Button>
        }
      >
        {any ? (
          <ul className="tiles">
            {sources.keys.map((found, index) => (
              <KeyTile key={found.provider} found={found} chosen={chosen} first={index === 0} />
            ))}
            {able.map((server, index) => (
              <ServerTile
                key={server.provider}
                server={server}
                chosen={chosen}
                first={index === 0 && sources.keys.length === 0}
              />
            ))}
            {loggedIn.map((login) => (
              <LoginTile key={login.provider} login={login} chosen={chosen} />
            ))}
          </ul>
        ) : (
          <p className="dim welcome-none">
            No key and no model server was found. Looked in the daemon’s environment, and for Ollama, llama.cpp, vLLM
            and LM Studio on their usual ports.
          </p>
        )}
      </Group>
      <Group title="Bring one">
        <ul className="tiles">
          <PasteTile looks={sources.looks} chosen={chosen} first={!any} />
          {sources.logins
            .filter(({ done }) => !done)
            .map((login) => (
              <LoginTile key={login.provider} login={login} chosen={chosen} />
            ))}
          {unable.map((server) => (
            <ServerTile key={server.provider} server={server} chosen={chosen} first={false} />
          ))}
          <OwnServerTile chosen={chosen} />
        </ul>
      </Group>
      <Group title="With nothing at hand">
        <ul className="tiles">
          <TourTile done={props.done} />
          {sources.offline.map((offer) => (
            <OfflineTile key={offer.name} offer={offer} chosen={chosen} />
          ))}
        </ul>
      </Group>
    </>
  )
}

function Group({ title, action, children }: { title: string; action?: ReactNode; children: ReactNode }) {
  return (
    <section className="welcome-group">
      <header>
        <h2>{title}</h2>
        {action}
      </header>
      {children}
    </section>
  )
}
