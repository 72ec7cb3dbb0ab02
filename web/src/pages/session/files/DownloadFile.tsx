import { ActionIcon, Button } from '@mantine/core'
import { IconDownload } from '@tabler/icons-react'
import { useState } from 'react'
import { tellProblem } from '@/lib/ask'
import { download } from '@/lib/download'
import { Tip } from '@/parts/Tip'
import { wholeFile } from './whole-file'

/** Hands the person the file as it is on the daemon's machine, whatever it holds and however large it is. */
export function DownloadFile({ session, path, wide = false }: { session: string; path: string; wide?: boolean }) {
  const [busy, setBusy] = useState(false)
  const fetchIt = async () => {
    setBusy(true)
    try {
      download(path.slice(path.lastIndexOf('/') + 1), await wholeFile(session, path))
    } catch (problem) {
      tellProblem(problem)
    }
    setBusy(false)
  }
  const label = `Download ${path}`
  return wide ? (
    <Button
      variant="default"
      leftSection={<IconDownload size={15} />}
      aria-label={label}
      loading={busy}
      onClick={() => void fetchIt()}
    >
      Download
    </Button>
  ) : (
    <Tip label="Download">
      <ActionIcon
        size="sm"
        variant="subtle"
        color="gray"
        aria-label={label}
        loading={busy}
        onClick={() => void fetchIt()}
      >
        <IconDownload size={15} />
      </ActionIcon>
    </Tip>
  )
}
