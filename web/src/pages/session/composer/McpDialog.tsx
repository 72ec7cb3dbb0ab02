import { Dialog } from '@/parts/Dialog'
import { FillPrompt } from '@/parts/mcp/FillPrompt'
import { ReadResource } from '@/parts/mcp/ReadResource'
import type { Opened } from './useList'

/** What a suggestion opens before it goes into the message: a prompt to fill in, a resource to look into. */
export default function McpDialog({ opened, cwd, close }: { opened: Opened; cwd: string; close: () => void }) {
  const take = (text: string) => {
    opened.put(text)
    close()
  }
  return (
    <Dialog onClose={close} title={opened.prompt ? 'Fill in a prompt' : 'A resource'} size="lg">
      {opened.prompt && <FillPrompt prompt={opened.prompt} cwd={cwd} take={take} leave={close} />}
      {opened.resource && (
        <ReadResource
          resource={opened.resource}
          cwd={cwd}
          take={(uri) => take(`@${opened.resource?.server}:${uri} `)}
          leave={close}
        />
      )}
    </Dialog>
  )
}
