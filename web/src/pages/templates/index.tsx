import { ActionIcon, Button, FileButton, Menu } from '@mantine/core'
import {
  IconCopy,
  IconDots,
  IconDownload,
  IconPencil,
  IconPlayerPlay,
  IconPlus,
  IconTrash,
  IconUpload,
  IconUsersGroup,
} from '@tabler/icons-react'
import { useState } from 'react'
import { act, tellProblem, useAsk } from '@/lib/ask'
import { download } from '@/lib/download'
import { modelName } from '@/lib/format'
import { useRenew } from '@/lib/live'
import { Confirm } from '@/parts/Confirm'
import { Modal } from '@/parts/Dialog'
import { Chip, Filter, Quiet, Section } from '@/parts/Listing'
import { Page } from '@/parts/Page'
import { EmptyState, ErrorState, LoadingRows } from '@/parts/states'
import type { Template, TemplateInfo } from '@/protocol/types'
import { useShell } from '@/shell/shell-state'
import { daemon } from '@/state/daemon'
import { Editor } from './Editor'
import './templates.css'

const SOURCES: [TemplateInfo['source'], string, string][] = [
  ['project', 'Of a project', 'Files in .openagent/agents of a workspace.'],
  ['user', 'In your files', 'Files in your configuration folder.'],
  ['database', 'Saved', 'Made or imported here, kept by the daemon.'],
  ['starter', 'Starters', 'Come with OpenAgent. Copy one to change it.'],
]

type Editing = { template: Template | null; replaces: boolean } | null

export default function Templates() {
  const templates = useAsk('templates.list', {})
  const renew = useRenew('templates.list')
  const [editing, setEditing] = useState<Editing>(null)
  const [query, setQuery] = useState('')
  const text = query.trim().toLowerCase()
  const all = templates.data?.templates ?? []
  const shown = all.filter(({ template }) =>
    `${template.name} ${template.description} ${template.role}`.toLowerCase().includes(text),
  )
  const close = () => setEditing(null)
  const create = () => setEditing({ template: null, replaces: false })
  const take = async (file: File | null) => {
    if (!file) return
    try {
      await daemon.request('templates.import', { text: await file.text(), file: file.name })
    } catch (problem) {
      tellProblem(problem)
    }
    await renew()
  }
  return (
    <Page
      title="Templates"
      wide
      actions={
        <>
          <Filter label="Filter templates" value={query} change={setQuery} />
          <FileButton onChange={(file) => void take(file)} accept=".md,text/markdown">
            {(props) => (
              <Button size="xs" variant="default" leftSection={<IconUpload size={16} />} {...props}>
                Import
              </Button>
            )}
          </FileButton>
          <Button size="xs" leftSection={<IconPlus size={16} />} onClick={create}>
            New template
          </Button>
        </>
      }
    >
      {templates.data?.notices && templates.data.notices.length > 0 && (
        <ul className="notices">
          {templates.data.notices.map((notice) => (
            <li key={notice}>{notice}</li>
          ))}
        </ul>
      )}
      {templates.isPending ? (
        <LoadingRows count={6} height={88} />
      ) : templates.error ? (
        <ErrorState problem={templates.error} retry={() => void templates.refetch()} />
      ) : all.length === 0 ? (
        <EmptyState
          icon={<IconUsersGroup size={24} />}
          title="No templates"
          action={<Button onClick={create}>Write the first</Button>}
        >
          A template is an agent with a task of its own: its words, its model, its tools. Sessions start from it, and
          other agents call it.
        </EmptyState>
      ) : shown.length === 0 ? (
        <Quiet>No template matches. Clear the filter to see all {all.length}.</Quiet>
      ) : (
        SOURCES.map(([source, title, about]) => {
          const own = shown.filter((one) => one.source === source)
          if (own.length === 0) return null
          return (
            <Section key={source} title={title} about={about}>
              <ul className="templates">
                {own.map((info) => (
                  <TemplateCard key={info.template.name} info={info} choose={setEditing} />
                ))}
              </ul>
            </Section>
          )
        })
      )}
      <Modal
        opened={editing !== null}
        onClose={close}
        title={editing?.replaces ? `Edit ${editing.template?.name}` : 'New template'}
        size="xl"
      >
        {editing && (
          <Editor template={editing.template} replaces={editing.replaces} taken={savedNames(all)} done={close} />
        )}
      </Modal>
    </Page>
  )
}

const savedNames = (all: TemplateInfo[]) =>
  all.filter(({ source }) => source === 'database').map(({ template }) => template.name)

function TemplateCard({ info, choose }: { info: TemplateInfo; choose: (editing: Editing) => void }) {
  const renew = useRenew('templates.list')
  const [removing, setRemoving] = useState(false)
  const { template, source } = info
  const kept = source === 'database'
  const edit = () => choose({ template, replaces: kept })
  const save = async () => {
    const text = await act('templates.export', { name: template.name })
    if (text) download(`${template.name}.md`, text.text, 'text/markdown')
  }
  return (
    <li className="template panel">
      <div className="template-head">
        <h3 className="cut">{template.name}</h3>
        {template.mode && <Chip tone="accent">{template.mode}</Chip>}
        <Chip>{info.writes ? 'changes files' : 'reads'}</Chip>
        <Menu position="bottom-end">
          <Menu.Target>
            <ActionIcon variant="subtle" color="gray" aria-label={`More about ${template.name}`}>
              <IconDots size={16} />
            </ActionIcon>
          </Menu.Target>
          <Menu.Dropdown>
            <Menu.Item leftSection={kept ? <IconPencil size={16} /> : <IconCopy size={16} />} onClick={edit}>
              {kept ? 'Edit' : 'Copy and change'}
            </Menu.Item>
            <Menu.Item leftSection={<IconDownload size={16} />} onClick={() => void save()}>
              Export
            </Menu.Item>
            {kept && (
              <Menu.Item color="red" leftSection={<IconTrash size={16} />} onClick={() => setRemoving(true)}>
                Delete
              </Menu.Item>
            )}
          </Menu.Dropdown>
        </Menu>
      </div>
      <p className="template-about">{template.description || 'Without a description.'}</p>
      <div className="template-foot">
        <span className="dim cut">
          {[
            template.model ? modelName(template.model) : 'model of the session',
            template.tools ? `${template.tools.length} tools` : 'all tools',
            ...(template.budget_usd ? [`$${template.budget_usd}`] : []),
          ].join(' · ')}
        </span>
        <Button
          size="compact-sm"
          variant="default"
          leftSection={<IconPlayerPlay size={14} />}
          onClick={() => useShell.setState({ newSession: true, template: template.name })}
        >
          Start<span className="visually-hidden"> a session from {template.name}</span>
        </Button>
      </div>
      {info.hides && info.hides.length > 0 && (
        <p className="dim template-hides">Counts in place of the one of the same name: {info.hides.join(', ')}.</p>
      )}
      <Confirm
        opened={removing}
        close={() => setRemoving(false)}
        title={`Delete ${template.name}?`}
        action="Delete"
        run={async () => {
          await act('templates.remove', { name: template.name })
          await renew()
        }}
      >
        Sessions that were started from it go on. Export it first to keep a copy.
      </Confirm>
    </li>
  )
}
