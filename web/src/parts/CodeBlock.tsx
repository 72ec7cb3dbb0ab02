import { ActionIcon } from '@mantine/core'
import { IconCheck, IconCopy, IconTextWrap } from '@tabler/icons-react'
import { type ReactNode, Suspense, useState } from 'react'
import { create } from 'zustand'
import { later } from '@/lib/later'
import { Tip } from './Tip'
import './code-block.css'

const Highlighted = later(() => import('./Highlighted'))

/** Longer code is shown without colours. */
const LONGEST_COLOURED = 30_000

/** Code scrolls sideways until a person asks otherwise; then all of it wraps. */
const useWrap = create<{ wrapped: boolean }>(() => ({ wrapped: false }))

export function CodeBlock(props: { code: string; language: string; note?: string; actions?: ReactNode }) {
  const { code, language } = props
  const wrapped = useWrap((state) => state.wrapped)
  return (
    <div className="code-block">
      <div className="code-head">
        <span>{props.note ?? (language || 'text')}</span>
        <span className="code-actions">
          {props.actions}
          <WrapButton />
          <CopyButton text={code} />
        </span>
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
      <pre tabIndex={0} className={wrapped ? 'code-wrapped' : undefined}>
        <code>
          {language && code.length < LONGEST_COLOURED ? (
            <Suspense fallback={code}>
              <Highlighted code={code} language={language} />
            </Suspense>
          ) : (
            code
          )}
        </code>
      </pre>
    </div>
  )
}

function WrapButton() {
  const wrapped = useWrap((state) => state.wrapped)
  const label = wrapped ? 'Do not wrap long lines' : 'Wrap long lines'
  return (
    <Tip label={label}>
      <ActionIcon
        size="xs"
        variant={wrapped ? 'light' : 'subtle'}
        color="gray"
        aria-label="Wrap long lines"
        aria-pressed={wrapped}
        onClick={() => useWrap.setState({ wrapped: !wrapped })}
      >
        <IconTextWrap size={13} />
      </ActionIcon>
    </Tip>
  )
}

export function CopyButton({ text }: { text: string }) {
  const [copied, setCopied] = useState(false)
  return (
    <Tip label={copied ? 'Copied' : 'Copy'}>
      <ActionIcon
        size="xs"
        variant="subtle"
        color="gray"
        aria-label="Copy"
        onClick={() => {
          void navigator.clipboard.writeText(text).then(() => {
            setCopied(true)
            setTimeout(() => setCopied(false), 1500)
          })
        }}
      >
        {copied ? <IconCheck size={13} /> : <IconCopy size={13} />}
      </ActionIcon>
    </Tip>
  )
}
