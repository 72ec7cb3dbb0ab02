import { CloseButton } from '@mantine/core'
import { IconFileText } from '@tabler/icons-react'
import { bytes } from '@/lib/format'
import type { Attachment } from './attachments'

/** What goes with the message: pictures as pictures, texts by their names. Each can be taken out again. */
export function Attached({ all, remove }: { all: Attachment[]; remove: (one: Attachment) => void }) {
  if (all.length === 0) return null
  return (
    <ul className="attached" aria-label="Attached">
      {all.map((one) => (
        <li key={one.id} title={`${one.name}, ${bytes(one.size)}`}>
          {one.part.type === 'image' ? (
            <img src={`data:${one.part.media_type};base64,${one.part.data}`} alt={one.name} />
          ) : (
            <span className="attached-text">
              <IconFileText size={16} aria-hidden />
              <span className="cut">{one.name}</span>
              <span className="dim mono">{bytes(one.size)}</span>
            </span>
          )}
          <CloseButton
            size="xs"
            className="attached-remove"
            aria-label={`Remove ${one.name}`}
            onClick={() => remove(one)}
          />
        </li>
      ))}
    </ul>
  )
}
