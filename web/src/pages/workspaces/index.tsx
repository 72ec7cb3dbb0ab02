import { Button, Menu } from '@mantine/core'
import { IconArchive, IconCopy, IconDots, IconPackageImport, IconPlus, IconRecycle } from '@tabler/icons-react'
import { useState } from 'react'
import { act, useAsk } from '@/lib/ask'
import { bytes } from '@/lib/format'
import { useLive, useRenew } from '@/lib/live'
import { tell } from '@/lib/tell'
import { Confirm } from '@/parts/Confirm'
import { Modal } from '@/parts/Dialog'
import { Filter, Quiet, Rows, Section } from '@/parts/Listing'
import { Page } from '@/parts/Page'
import { ProjectChoice, useProject } from '@/parts/Project'
import { EmptyState, ErrorState, LoadingRows } from '@/parts/states'
import { CopyRow } from './CopyRow'
import { Backup, NewCopy, Restore } from './forms'
import './workspaces.css'

type Doing = 'copy' | 'backup' | 'restore' | null

const TITLES = { copy: 'Copy a workspace', backup: 'Pack a workspace', restore: 'Unpack a backup' }

export default function Workspaces() {
  useLive(['subagent.started', 'subagent.finished'], 'workspaces.list')
  const copies = useAsk('workspaces.list', {})
  const cwd = useProject()
  const [query, setQuery] = useState('')
  const [doing, setDoing] = useState<Doing>(null)
  const [collecting, setCollecting] = useState(false)
  const text = query.trim().toLowerCase()
  const all = copies.data?.copies ?? []
  const shown = all.filter(({ name, origin, id }) => `${name} ${origin} ${id}`.toLowerCase().includes(text))
  const origins = [...new Set(shown.map(({ origin }) => origin))]
  const close = () => setDoing(null)
  return (
    <Page
      title="Workspaces"
      actions={
        <>
          <ProjectChoice />
          <Filter label="Filter copies" value={query} change={setQuery} />
          <Menu position="bottom-end">
            <Menu.Target>
              <Button size="xs" variant="default" leftSection={<IconDots size={16} />}>
                Space and backups
              </Button>
            </Menu.Target>
            <Menu.Dropdown>
              <Menu.Item leftSection={<IconArchive size={16} />} onClick={() => setDoing('backup')}>
                Pack into an archive …
              </Menu.Item>
              <Menu.Item leftSection={<IconPackageImport size={16} />} onClick={() => setDoing('restore')}>
                Unpack an archive …
              </Menu.Item>
              <Menu.Item leftSection={<IconRecycle size={16} />} onClick={() => setCollecting(true)}>
                Give back space …
              </Menu.Item>
            </Menu.Dropdown>
          </Menu>
          <Button size="xs" leftSection={<IconPlus size={16} />} onClick={() => setDoing('copy')}>
            New copy
          </Button>
        </>
      }
    >
      <p className="dim page-lead">
        Copies of a project that agents work in side by side, without stepping on each other or on you. Sub-agents that
        write get one by themselves.
      </p>
      {copies.isPending ? (
        <LoadingRows count={4} height={52} />
      ) : copies.error ? (
        <ErrorState problem={copies.error} retry={() => void copies.refetch()} />
      ) : all.length === 0 ? (
        <EmptyState
          icon={<IconCopy size={24} />}
          title="No copies"
          action={<Button onClick={() => setDoing('copy')}>Copy a workspace</Button>}
        >
          Start a session in a copy to let it try something; what it changed is looked at and merged when you want it.
        </EmptyState>
      ) : shown.length === 0 ? (
        <Quiet>No copy matches. Clear the filter to see all {all.length}.</Quiet>
      ) : (
        origins.map((origin) => (
          <Section key={origin} title={origin}>
            <Rows label={`Copies of ${origin}`}>
              {shown
                .filter((one) => one.origin === origin)
                .map((one) => (
                  <CopyRow key={one.id} copy={one} />
                ))}
            </Rows>
          </Section>
        ))
      )}
      <Modal opened={doing !== null} onClose={close} title={doing ? TITLES[doing] : ''} size="lg">
        {doing === 'copy' && <NewCopy cwd={cwd} done={close} />}
        {doing === 'backup' && <Backup cwd={cwd} done={close} />}
        {doing === 'restore' && <Restore done={close} />}
      </Modal>
      <Collect opened={collecting} close={() => setCollecting(false)} />
    </Page>
  )
}

function Collect({ opened, close }: { opened: boolean; close: () => void }) {
  const renew = useRenew('workspaces.list')
  const collect = async () => {
    const got = await act('workspaces.gc', {})
    if (!got) return
    const { checkpoints = 0, copies = 0, freed_bytes: freed = 0 } = got
    tell({
      tone: 'plain',
      title: `${bytes(freed)} given back`,
      text: `${checkpoints} checkpoints and ${copies} copies went.`,
    })
    await renew()
  }
  return (
    <Confirm opened={opened} close={close} title="Give back space?" action="Give back" run={collect}>
      Checkpoints beyond the newest 200 of each session go, and copies that nobody works in and that hold no edits.
      Older turns than that can no longer be undone.
    </Confirm>
  )
}
