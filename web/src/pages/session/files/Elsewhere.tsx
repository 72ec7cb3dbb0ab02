import { UnstyledButton } from '@mantine/core'
import { IconFileSearch } from '@tabler/icons-react'
import { useEffect } from 'react'
import { useAsk } from '@/lib/ask'
import { EmptyState, LoadingRows } from '@/parts/states'

interface Props {
  session: string
  path: string
  line: number | undefined
  open: (path: string, line?: number, replace?: boolean) => void
}

const MOST = 8

/** There is no such file: an agent may have named it from another folder. If one file ends with that name, it is meant. */
export function Elsewhere({ session, path, line, open }: Props) {
  const name = path.slice(path.lastIndexOf('/') + 1)
  const found = useAsk('files.list', { session, query: name }, { staleTime: 10_000, retry: false })
  const entries = (found.data?.entries ?? []).filter((entry) => entry.name === name)
  const ending = entries.filter((entry) => entry.path.endsWith(`/${path}`))
  const meant = ending.length === 1 ? ending[0]?.path : undefined
  useEffect(() => {
    if (meant) open(meant, line, true)
  }, [meant, line, open])
  if (found.isLoading || meant) return <LoadingRows count={3} height={14} />
  return (
    <EmptyState
      icon={<IconFileSearch size={24} />}
      title="No such file here"
      action={
        entries.length > 0 && (
          <ul className="files-elsewhere" aria-label="Files of that name">
            {entries.slice(0, MOST).map((entry) => (
              <li key={entry.path}>
                <UnstyledButton className="mono" onClick={() => open(entry.path, line)}>
                  {entry.path}
                </UnstyledButton>
              </li>
            ))}
          </ul>
        )
      }
    >
      {path} is not in this workspace{entries.length > 0 ? '. These have its name:' : ', or not any more.'}
    </EmptyState>
  )
}
