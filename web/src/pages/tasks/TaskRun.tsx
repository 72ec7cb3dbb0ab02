import { Button, Select } from '@mantine/core'
import { IconGitPullRequest, IconPlayerStop, IconRefresh } from '@tabler/icons-react'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { act, useAsk } from '@/lib/ask'
import { useRenew } from '@/lib/live'
import { AllRunningOutside } from '@/parts/RunsOutside'
import type { TaskInfo } from '@/protocol/types'
import { goesOn, runWords } from './board'
import { TaskLink } from './TaskLog'

/** A task's way to a merged pull request: given to an agent, looked at, stopped, gone on with. */
export function TaskRun({ task }: { task: TaskInfo }) {
  const renew = useRenew('tasks.list', 'task.log')
  const templates = useAsk('templates.list', {})
  const [template, setTemplate] = useState('')
  const [busy, setBusy] = useState('')
  const run = task.run
  const again = async (what: 'task.run' | 'task.follow' | 'task.stop') => {
    setBusy(what)
    await (what === 'task.run' ? act(what, { task: task.id, template }) : act(what, { task: task.id }))
    await renew()
    setBusy('')
  }
  const fresh = !run || run.state === 'merged' || run.state === 'closed'
  return (
    <section aria-label="Pull request" className="task-run">
      <h3>Pull request</h3>
      {run ? (
        <p>
          <strong>{runWords[run.state]}</strong> · <span className="mono">{run.branch}</span>
          {run.url && (
            <>
              {' · '}
              <TaskLink address={run.url} />
            </>
          )}
          {' · '}
          <Link to="/sessions/$id" params={{ id: run.session }}>
            its session
          </Link>
        </p>
      ) : (
        <p className="dim">
          An agent works on it in a copy of the directory. What it changes is committed in your name, pushed to a branch
          of its own and opened as a pull request, whose reviewers it answers until it is merged.
        </p>
      )}
      <AllRunningOutside files={run?.runs_outside} />
      {run?.problem && <p className="task-waits">{run.problem}</p>}
      <div className="task-run-actions">
        {fresh && (
          <Select
            aria-label="Template"
            placeholder="No template"
            clearable
            data={(templates.data?.templates ?? []).map(({ template: { name } }) => name)}
            value={template || null}
            onChange={(value) => setTemplate(value ?? '')}
          />
        )}
        {(!run || !goesOn(run) || run.state === 'open') && (
          <Button
            variant="default"
            leftSection={<IconGitPullRequest size={14} />}
            disabled={!task.cwd}
            loading={busy === 'task.run'}
            onClick={() => void again('task.run')}
          >
            {fresh ? 'Give it to an agent' : run.state === 'open' ? 'Publish what was changed' : 'Go on'}
          </Button>
        )}
        {run?.state === 'open' && (
          <Button
            variant="default"
            leftSection={<IconRefresh size={14} />}
            loading={busy === 'task.follow'}
            onClick={() => void again('task.follow')}
          >
            Look now
          </Button>
        )}
        {run && goesOn(run) && (
          <Button
            variant="default"
            leftSection={<IconPlayerStop size={14} />}
            loading={busy === 'task.stop'}
            onClick={() => void again('task.stop')}
          >
            Stop
          </Button>
        )}
      </div>
    </section>
  )
}
