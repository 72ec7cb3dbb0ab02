import { IconFile } from '@tabler/icons-react'
import { type ReactNode, useEffect } from 'react'
import { Refusal } from '@/connection/connection'
import { useAsk } from '@/lib/ask'
import { bytes } from '@/lib/format'
import { EmptyState, ErrorState, LoadingRows } from '@/parts/states'
import { daemon } from '@/state/daemon'
import { useLink } from '@/state/link'
import { DownloadFile } from './DownloadFile'
import { keyOf, useDrafts } from './drafts'
import { EditFile } from './EditFile'
import { Elsewhere } from './Elsewhere'
import type { Standing } from './editing'
import { PictureFile } from './PictureFile'

interface Props {
  session: string
  path: string
  line: number | undefined
  open: (path: string, line?: number, replace?: boolean) => void
  /** What stands before its name. */
  lead: ReactNode
}

/** A file of the workspace: a text to edit, a picture, or why it is neither. */
export function OpenFile({ session, path, line, open, lead }: Props) {
  const content = useAsk(
    'files.read',
    { session, path, picture: true },
    { staleTime: 0, refetchOnMount: 'always', refetchOnWindowFocus: 'always', retry: false },
  )
  const kept = useDrafts(({ drafts }) => keyOf(session, path) in drafts)
  useFresh(session, content.refetch)
  const { data, error } = content
  const gone = error instanceof Refusal && error.info.code === 'not_found'
  const edit = (standing: Standing) => (
    <EditFile session={session} path={path} line={line} standing={standing} lead={lead} />
  )
  if (gone && kept) return edit({ text: '', version: '', gone: true })
  if (gone) return <Elsewhere session={session} path={path} line={line} open={open} />
  // Too large to be shown is not too large to be had.
  if (error instanceof Refusal && error.info.code === 'invalid_argument')
    return (
      <EmptyState
        icon={<IconFile size={24} />}
        title="Not shown here"
        action={<DownloadFile session={session} path={path} wide />}
      >
        {error.message}
      </EmptyState>
    )
  if (error) return <ErrorState problem={error} retry={() => void content.refetch()} />
  if (!data)
    return (
      <div className="files-loading">
        <LoadingRows count={12} height={14} />
      </div>
    )
  if (data.media_type && data.data) return <PictureFile session={session} content={data} lead={lead} />
  if (data.binary)
    return (
      <EmptyState
        icon={<IconFile size={24} />}
        title="Neither text nor picture"
        action={<DownloadFile session={session} path={path} wide />}
      >
        {path} has {bytes(data.size)}. A terminal can show more of it.
      </EmptyState>
    )
  return edit({ text: data.text ?? '', version: data.version ?? '', gone: false })
}

/** Read again when an agent may have changed it, and when the line is back. */
function useFresh(session: string, refetch: () => unknown): void {
  const changedAt = daemon.session(session)((state) => state.conversation?.changedAt)
  const line = useLink(({ link }) => link.state === 'open')
  useEffect(() => {
    if (changedAt !== undefined && line) refetch()
  }, [changedAt, line, refetch])
}
