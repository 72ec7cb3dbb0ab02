import { Button } from '@mantine/core'
import { useState } from 'react'
import { act, useAsk } from '@/lib/ask'
import { bytes } from '@/lib/format'
import { useRenew } from '@/lib/live'
import { tell } from '@/lib/tell'
import { Ago } from '@/parts/Ago'
import { Modal } from '@/parts/Dialog'
import { Chip, Quiet, Row, Rows, Section } from '@/parts/Listing'
import { ErrorState, LoadingRows } from '@/parts/states'
import { WithCode } from '@/parts/WithCode'
import type { BackupInfo, BackupList } from '@/protocol/types'

const MOST = 8

/** The archives that there are, a way to make one and to try one out. Restoring takes a daemon that is stopped. */
export function Backups() {
  const found = useAsk('backup.list', {})
  const renew = useRenew('backup.list')
  const [making, setMaking] = useState(false)
  const [key, setKey] = useState('')
  const make = async () => {
    setMaking(true)
    const made = await act('backup.create', {})
    setMaking(false)
    if (made?.backup) tell({ tone: 'plain', title: 'A backup was made and tried out', text: made.backup.path })
    await renew()
  }
  return (
    <Section
      title="Backups"
      about={
        found.data ? (
          <WithCode text={about(found.data)} />
        ) : (
          'Sessions, sealed keys, settings and templates in an archive.'
        )
      }
      actions={
        <>
          <Button
            size="compact-sm"
            variant="default"
            onClick={() => void act('backup.key', {}).then((got) => setKey(got?.key ?? ''))}
          >
            Recovery key …
          </Button>
          <Button size="compact-sm" variant="default" loading={making} onClick={() => void make()}>
            Back up now
          </Button>
        </>
      }
    >
      {found.isPending ? (
        <LoadingRows count={1} height={44} />
      ) : found.error ? (
        <ErrorState problem={found.error} retry={() => void found.refetch()} />
      ) : found.data.backups.length === 0 ? (
        <Quiet>There are none yet.</Quiet>
      ) : (
        <Rows label="Backups">
          {found.data.backups.slice(0, MOST).map((backup) => (
            <Archive key={backup.name} backup={backup} />
          ))}
        </Rows>
      )}
      <Modal opened={key !== ''} onClose={() => setKey('')} title="The recovery key">
        <p>
          It opens the keys in a backup on another machine. Keep it somewhere else than the backups: whoever has both
          has your keys.
        </p>
        <p className="mono">{key}</p>
      </Modal>
    </Section>
  )
}

function about({ folder, daily, keep_days: days, problem }: BackupList): string {
  const made = daily === false ? 'None is made by itself.' : `One is made every day and kept for ${days ?? 30} days.`
  const failed = problem ? ` The last one was not made: ${problem}` : ''
  return `In ${folder}. ${made} \`openagent backup restore\` puts one back.${failed}`
}

function Archive({ backup }: { backup: BackupInfo }) {
  const [trying, setTrying] = useState(false)
  const verify = async () => {
    setTrying(true)
    const tried = await act('backup.verify', { archive: backup.name })
    setTrying(false)
    if (tried) tell({ tone: 'plain', title: 'It can be restored', text: `${tried.files ?? 0} files are as they were.` })
  }
  return (
    <Row
      name={<span className="mono">{backup.name}</span>}
      chips={backup.problem ? <Chip tone="bad">of no use</Chip> : backup.keys && <Chip tone="plain">keys sealed</Chip>}
      about={
        backup.problem ? (
          backup.problem
        ) : (
          <>
            {backup.sessions ?? 0} sessions with {backup.messages ?? 0} messages · by{' '}
            {backup.kind === 'daily' ? 'the daemon' : 'hand'} · <Ago at={backup.created_at ?? 0} />
            {backup.keys_left_out && ` · without keys: ${backup.keys_left_out}`}
          </>
        )
      }
      figures={<span className="mono">{bytes(backup.bytes)}</span>}
      actions={
        !backup.problem && (
          <Button size="compact-sm" variant="default" loading={trying} onClick={() => void verify()}>
            Try out<span className="visually-hidden"> {backup.name}</span>
          </Button>
        )
      }
    />
  )
}
