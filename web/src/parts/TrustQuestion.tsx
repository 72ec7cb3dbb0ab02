import { Radio } from '@mantine/core'
import type { FolderTrust } from '@/protocol/types'

export type TrustAnswer = '' | 'trust' | 'decline'

const SHOWN = 8

/** Whether there is anything to ask about a folder. */
export function isToAsk(folder: FolderTrust | null | undefined): folder is FolderTrust {
  return Boolean(folder?.files?.length) && !folder?.trusted && !folder?.declined
}

/** Whether to trust a folder: asked in words, before anything of it counts. */
export function TrustQuestion(props: {
  folder: FolderTrust
  answer: TrustAnswer
  change: (answer: TrustAnswer) => void
}) {
  const files = props.folder.files ?? []
  return (
    <fieldset className="trust-question">
      <legend>Do you trust this folder?</legend>
      <p>It has settings for agents of its own:</p>
      <ul className="mono">
        {files.slice(0, SHOWN).map((file) => (
          <li key={file}>{file}</li>
        ))}
        {files.length > SHOWN && <li>and {files.length - SHOWN} more</li>}
      </ul>
      <p>
        Trusted, they count: where requests go, what runs unasked, which servers and hooks start. Otherwise they can
        only make things stricter, and you can work here all the same.
      </p>
      <Radio.Group
        aria-label="Trust this folder"
        value={props.answer}
        onChange={(value) => props.change(value as TrustAnswer)}
      >
        <div className="trust-answers">
          <Radio size="xs" value="decline" label="Work without them; ask again when they change" />
          <Radio size="xs" value="trust" label="Trust them as they are now; I have read them" />
        </div>
      </Radio.Group>
      <p className="dim">Without an answer they are left out, and you are asked again next time.</p>
    </fieldset>
  )
}
