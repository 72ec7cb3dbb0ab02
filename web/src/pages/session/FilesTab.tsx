import { ActionIcon, Button } from '@mantine/core'
import { IconFileCode, IconLayoutSidebar } from '@tabler/icons-react'
import { useState } from 'react'
import { EmptyState } from '@/parts/states'
import { Tip } from '@/parts/Tip'
import type { SessionInfo } from '@/protocol/types'
import { shown } from '@/shell/shortcuts'
import { FileTree } from './FileTree'
import { OpenFile } from './files/OpenFile'
import { openQuickly } from './split/quick-open-state'
import type { Going } from './split/use-place'
import './files.css'

/** The workspace's files: a tree, and the one that is open, to read and to edit. */
export default function FilesTab({ info, going }: { info: SessionInfo; going: Going }) {
  const { file, line } = going.place
  // Unasked, the tree gives way to the file where there is no room for both.
  const [tree, setTree] = useState<'auto' | 'shown' | 'hidden'>('auto')
  const open = (path: string, at?: number) => {
    going.openFile(path, at)
    if (tree === 'shown') setTree('auto')
  }
  const toggle = (event: React.MouseEvent<HTMLElement>) => {
    const list = event.currentTarget.closest('.files')?.querySelector('.tree')
    setTree(list && getComputedStyle(list).display !== 'none' ? 'hidden' : 'shown')
  }
  const lead = (
    <Tip label="Show or hide the tree">
      <ActionIcon size="sm" variant="subtle" color="gray" aria-label="Show or hide the tree" onClick={toggle}>
        <IconLayoutSidebar size={15} />
      </ActionIcon>
    </Tip>
  )
  return (
    <div className="files" data-tree={tree} data-file={file ? 'open' : undefined}>
      <FileTree session={info.id} opened={file ?? ''} open={open} />
      <div className="files-main">
        {file ? (
          <OpenFile key={file} session={info.id} path={file} line={line} open={going.openFile} lead={lead} />
        ) : (
          <EmptyState
            icon={<IconFileCode size={24} />}
            title="Choose a file"
            action={
              <Button variant="default" onClick={openQuickly}>
                Open by name&ensp;<kbd>{shown('mod+p')}</kbd>
              </Button>
            }
          >
            What you save here is saved at once, beside the agent: it is told when a file it has read changes under it.
          </EmptyState>
        )}
      </div>
    </div>
  )
}
