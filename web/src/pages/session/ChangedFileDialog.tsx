import { Dialog } from '@/parts/Dialog'
import { Diff } from '@/parts/Diff'
import type { ChangedFile } from '@/protocol/types'

export default function ChangedFileDialog({ file, close }: { file: ChangedFile; close: () => void }) {
  return (
    <Dialog onClose={close} title={file.path} size="xl">
      {file.binary ? (
        <p className="dim">Not a text.</p>
      ) : (
        <Diff patch={file.patch ?? ''} label={`Changes in ${file.path}`} path={file.path} />
      )}
      {file.cut && <p className="dim">The rest is left out here.</p>}
    </Dialog>
  )
}
