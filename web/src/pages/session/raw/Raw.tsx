import { useState } from 'react'
import { useAsk } from '@/lib/ask'
import { bytes } from '@/lib/format'
import { Choice } from '@/parts/Choice'
import { CodeBlock } from '@/parts/CodeBlock'
import { Dialog } from '@/parts/Dialog'
import { Notices } from '@/parts/Listing'
import { ErrorState, LoadingRows } from '@/parts/states'
import { readable } from './readable'
import './raw.css'

type Side = 'request' | 'response'

const CUT = 'Something was cut: it was too long to keep.'

/** What went to the provider for an answer, and what came back. */
export default function Raw({ session, number, close }: { session: string; number: number; close: () => void }) {
  const found = useAsk('message.raw', { session, number }, { staleTime: Number.POSITIVE_INFINITY })
  const [side, setSide] = useState<Side>('request')
  return (
    <Dialog onClose={close} title="As the provider saw it" size="xl">
      {found.isPending ? (
        <LoadingRows count={6} />
      ) : found.error ? (
        <ErrorState problem={found.error} />
      ) : (
        <div className="raw">
          <div className="raw-head">
            <Choice
              label="Which side"
              value={side}
              choose={setSide}
              choices={[
                { value: 'request', label: 'what was sent' },
                { value: 'response', label: 'what came back' },
              ]}
            />
            <span className="mono dim">{bytes(new Blob([found.data[side]]).size)}</span>
          </div>
          <Notices notices={found.data.truncated ? [CUT] : []} />
          <Side key={side} text={found.data[side]} />
        </div>
      )}
    </Dialog>
  )
}

function Side({ text }: { text: string }) {
  const { code, language, note } = readable(text)
  return <CodeBlock code={code} language={language} note={note} />
}
