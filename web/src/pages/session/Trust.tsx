import { useState } from 'react'
import { useAsk } from '@/lib/ask'
import { useRenew } from '@/lib/live'
import { tell } from '@/lib/tell'
import { Modal } from '@/parts/Dialog'
import { Form } from '@/parts/Form'
import { ErrorState, LoadingRows } from '@/parts/states'
import { type TrustAnswer, TrustQuestion } from '@/parts/TrustQuestion'
import type { FolderTrust } from '@/protocol/types'
import { daemon } from '@/state/daemon'
import '@/parts/folder-field.css'

/** Whether the session's folder is trusted, and the question in place, as a new session asks it. */
export default function Trust({ cwd, close }: { cwd: string; close: () => void }) {
  const there = useAsk('setup.show', { cwd }, { staleTime: 0 })
  const folder = there.data?.folder
  return (
    <Modal opened onClose={close} title="Trust in this folder" size="lg">
      {there.isPending ? (
        <LoadingRows count={3} height={28} />
      ) : there.error ? (
        <ErrorState problem={there.error} retry={() => void there.refetch()} />
      ) : !folder?.files?.length ? (
        <p>
          There is nothing to trust: <span className="mono">{folder?.folder ?? cwd}</span> has no settings for agents of
          its own.
        </p>
      ) : folder.trusted ? (
        <Trusted folder={folder} close={close} />
      ) : (
        <Untrusted folder={folder} cwd={cwd} close={close} />
      )}
    </Modal>
  )
}

function Untrusted({ folder, cwd, close }: { folder: FolderTrust; cwd: string; close: () => void }) {
  const renew = useTrustRenewed()
  const [answer, setAnswer] = useState<TrustAnswer>(folder.declined ? 'decline' : '')
  const keep = async () => {
    await daemon.request(answer === 'trust' ? 'trust.add' : 'trust.decline', { cwd })
    await renew()
    told(answer === 'trust' ? 'The folder is trusted' : 'The folder is not trusted', answer === 'trust')
    close()
  }
  return (
    <Form work={keep} action="Keep this answer" ready={answer !== ''} leave={close}>
      <p className="mono">{folder.folder}</p>
      <TrustQuestion folder={folder} answer={answer} change={setAnswer} />
    </Form>
  )
}

function Trusted({ folder, close }: { folder: FolderTrust; close: () => void }) {
  const renew = useTrustRenewed()
  const revoke = async () => {
    await daemon.request('trust.remove', { folder: folder.folder })
    await renew()
    told('The folder is not trusted any more', false)
    close()
  }
  return (
    <Form work={revoke} action="Revoke" ready leave={close}>
      <p>
        <span className="mono">{folder.folder}</span> is trusted: what it says of agents counts, as it was when you said
        so. Revoked, it counts no longer, except where it makes things stricter.
      </p>
      <ul className="mono">
        {(folder.files ?? []).map((file) => (
          <li key={file}>{file}</li>
        ))}
      </ul>
    </Form>
  )
}

const useTrustRenewed = () => useRenew('trust.list', 'setup.show', 'config.show', 'mcp.list')

function told(title: string, counts: boolean): void {
  const text = counts
    ? 'Its settings, rules, servers and hooks count from the next turn on.'
    : 'Its own settings can only make things stricter.'
  tell({ tone: 'plain', title, text })
}
