import { Button } from '@mantine/core'
import { IconBook2 } from '@tabler/icons-react'
import { useState } from 'react'
import { useAsk } from '@/lib/ask'
import { Modal } from '@/parts/Dialog'
import { Chip, Filter, Notices, Quiet, Row, Rows } from '@/parts/Listing'
import { Markdown } from '@/parts/Markdown'
import { Page } from '@/parts/Page'
import { ProjectChoice, useProject } from '@/parts/Project'
import { EmptyState, ErrorState, LoadingRows } from '@/parts/states'
import type { Skill } from '@/protocol/types'
import { ORIGINS } from '../customise/origins'
import '../customise/customise.css'

export default function Skills() {
  const cwd = useProject()
  const skills = useAsk('skills.list', { cwd })
  const [query, setQuery] = useState('')
  const [open, setOpen] = useState<Skill | null>(null)
  const text = query.trim().toLowerCase()
  const all = skills.data?.skills ?? []
  const shown = all.filter(({ name, description }) => `${name} ${description}`.toLowerCase().includes(text))
  return (
    <Page
      title="Skills"
      actions={
        <>
          <ProjectChoice />
          <Filter label="Filter skills" value={query} change={setQuery} />
        </>
      }
    >
      <p className="dim page-lead">
        What an agent can read up on when it needs it: it sees the name and when to use it, and loads the rest itself.
      </p>
      <Notices notices={skills.data?.notices} />
      {skills.isPending ? (
        <LoadingRows count={5} height={52} />
      ) : skills.error ? (
        <ErrorState problem={skills.error} retry={() => void skills.refetch()} />
      ) : all.length === 0 ? (
        <EmptyState icon={<IconBook2 size={24} />} title="No skills yet">
          A skill is a folder with a SKILL.md: in .openagent/skills or .claude/skills of a project you trust, or in your
          configuration folder.
        </EmptyState>
      ) : shown.length === 0 ? (
        <Quiet>No skill matches. Clear the filter to see all {all.length}.</Quiet>
      ) : (
        <Rows label="Skills">
          {shown.map((skill) => (
            <Row
              key={skill.name}
              name={skill.name}
              chips={<Chip>{ORIGINS[skill.origin ?? 'user']}</Chip>}
              about={skill.description || 'It does not say when to use it.'}
              actions={
                <Button size="compact-sm" variant="default" onClick={() => setOpen(skill)}>
                  Read<span className="visually-hidden"> {skill.name}</span>
                </Button>
              }
            />
          ))}
        </Rows>
      )}
      <Modal opened={open !== null} onClose={() => setOpen(null)} title={open?.name ?? ''} size="xl">
        {open && <Content skill={open} cwd={cwd} />}
      </Modal>
    </Page>
  )
}

function Content({ skill, cwd }: { skill: Skill; cwd: string }) {
  const content = useAsk('skills.show', { name: skill.name, cwd })
  if (content.isPending) return <LoadingRows count={6} height={20} />
  if (content.error) return <ErrorState problem={content.error} retry={() => void content.refetch()} />
  const files = content.data.files ?? []
  return (
    <>
      <p className="dim mono custom-place">{skill.folder}</p>
      <Markdown text={content.data.body} />
      {files.length > 0 && <p className="dim custom-place">Beside it: {files.join(', ')}</p>}
    </>
  )
}
