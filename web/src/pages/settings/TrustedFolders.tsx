import { Button } from '@mantine/core'
import { useState } from 'react'
import { act, useAsk } from '@/lib/ask'
import { useRenew } from '@/lib/live'
import { Ago } from '@/parts/Ago'
import { Confirm } from '@/parts/Confirm'
import { Chip, Quiet, Row, Rows, Section } from '@/parts/Listing'
import { ErrorState, LoadingRows } from '@/parts/states'
import type { TrustEntry } from '@/protocol/types'

/** Folders whose own settings count, and a way to take that back. */
export function TrustedFolders() {
  const trusted = useAsk('trust.list', {})
  return (
    <Section
      title="Trusted folders"
      about="Their own settings, rules, MCP servers and hooks count, as they were when you trusted them. A new session asks about a folder that has any."
    >
      {trusted.isPending ? (
        <LoadingRows count={1} height={44} />
      ) : trusted.error ? (
        <ErrorState problem={trusted.error} retry={() => void trusted.refetch()} />
      ) : trusted.data.folders.length === 0 ? (
        <Quiet>No folder is trusted. What a folder says of agents can only make things stricter.</Quiet>
      ) : (
        <Rows label="Trusted folders">
          {trusted.data.folders.map((entry) => (
            <Trusted key={entry.folder} entry={entry} />
          ))}
        </Rows>
      )}
    </Section>
  )
}

function Trusted({ entry }: { entry: TrustEntry }) {
  const renew = useRenew('trust.list', 'setup.show', 'config.show', 'mcp.list')
  const [removing, setRemoving] = useState(false)
  return (
    <Row
      name={<span className="mono">{entry.folder}</span>}
      chips={entry.current === false && <Chip tone="warn">changed since: not trusted now</Chip>}
      about={
        <>
          {entry.files?.length ? <span className="mono">{entry.files.join(', ')}</span> : 'nothing to trust in it now'}{' '}
          · trusted <Ago at={entry.at} />
        </>
      }
      actions={
        <>
          {entry.current === false && (
            <Button
              size="compact-sm"
              variant="default"
              onClick={() => void act('trust.add', { cwd: entry.folder }).then(renew)}
            >
              Trust as it is now
            </Button>
          )}
          <Button size="compact-sm" variant="default" onClick={() => setRemoving(true)}>
            Revoke<span className="visually-hidden"> the trust in {entry.folder}</span>
          </Button>
        </>
      }
    >
      <Confirm
        opened={removing}
        close={() => setRemoving(false)}
        title="Trust this folder no longer?"
        action="Revoke"
        run={async () => {
          await act('trust.remove', { folder: entry.folder })
          await renew()
        }}
      >
        What {entry.folder} says of agents counts no longer, from their next turn on, except where it makes things
        stricter.
      </Confirm>
    </Row>
  )
}
