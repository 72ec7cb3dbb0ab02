import { Button } from '@mantine/core'
import { Suspense, useState } from 'react'
import { act } from '@/lib/ask'
import { useFollowing } from '@/lib/following'
import { later } from '@/lib/later'
import { tell } from '@/lib/tell'
import type { RepositoryState } from '@/protocol/types'
import { useKeys } from '@/shell/shortcuts'
import type { Conversation } from '@/state/conversation'
import { daemon } from '@/state/daemon'

const CommitDialog = later(() => import('./CommitDialog'))
const PullRequestDialog = later(() => import('./PullRequestDialog'))

/** Commit, push, pull request: with the person's git, by the person's click. */
export function GitActions({ conversation }: { conversation: Conversation }) {
  const { info, changedAt } = conversation
  const [dialog, setDialog] = useState<'commit' | 'request' | null>(null)
  const [busy, setBusy] = useState(false)
  const status = useFollowing(['git.status', info.id], changedAt, () =>
    daemon.request('git.status', { session: info.id }),
  )
  const state = status.data
  const again = () => void status.refetch()
  const commit = () => {
    again()
    setDialog('commit')
  }
  const push = async () => {
    setBusy(true)
    const done = await act('git.push', { session: info.id })
    setBusy(false)
    if (done) tell({ tone: 'plain', title: 'Pushed', text: `${done.branch} is on ${done.remote}.` })
    again()
  }
  const canPush = state && !state.problem && state.remote && (state.ahead ?? 0) > 0 && state.branch
  useKeys('Review', [
    ...(state && !cannotCommit(state) ? [{ keys: 'C', what: 'Commit', run: commit }] : []),
    ...(canPush ? [{ keys: 'P', what: 'Push', run: () => void push() }] : []),
    ...(state && !cannotRequest(state)
      ? [{ keys: 'O', what: 'Open a pull request', run: () => setDialog('request') }]
      : []),
  ])
  if (!state) return null
  const cannot = cannotCommit(state)
  return (
    <>
      <span className="mono dim review-branch cut" title={state.problem || branchWords(state)}>
        {state.problem ? 'git: not here' : branchWords(state)}
      </span>
      <Button size="xs" variant="default" disabled={cannot !== ''} title={cannot} onClick={commit}>
        Commit …
      </Button>
      {canPush && (
        <Button size="xs" variant="default" loading={busy} onClick={() => void push()}>
          Push {state.ahead}
        </Button>
      )}
      <Button
        size="xs"
        disabled={cannotRequest(state) !== ''}
        title={cannotRequest(state)}
        onClick={() => setDialog('request')}
      >
        Open pull request …
      </Button>
      <Suspense>
        {dialog === 'commit' && (
          <CommitDialog session={info.id} state={state} again={again} close={() => setDialog(null)} />
        )}
        {dialog === 'request' && (
          <PullRequestDialog session={info.id} state={state} again={again} close={() => setDialog(null)} />
        )}
      </Suspense>
    </>
  )
}

function branchWords({ branch, head, ahead = 0, behind = 0 }: RepositoryState): string {
  const apart = [ahead > 0 ? `↑${ahead}` : '', behind > 0 ? `↓${behind}` : ''].filter(Boolean).join(' ')
  return `${branch || `detached at ${head}`} ${apart}`.trim()
}

/** Why not, in a sentence; empty when it can be done. */
function cannotCommit({ problem, files = [], branch, doing }: RepositoryState): string {
  if (problem) return problem
  if (!branch) return 'HEAD is detached: a commit would belong to no branch. Start a branch in a terminal first.'
  if (doing) return `The repository is in the middle of ${doing}. Finish it first.`
  return files.length === 0 ? 'Everything is committed.' : ''
}

function cannotRequest({ problem, branch, remote, forge, head }: RepositoryState): string {
  if (problem) return problem
  if (!forge) return 'Neither gh nor glab is installed where the daemon runs.'
  if (!remote) return 'The repository has no remote to push to.'
  if (!branch) return 'HEAD is detached: there is no branch to open it for.'
  return head ? '' : 'There is no commit yet.'
}
