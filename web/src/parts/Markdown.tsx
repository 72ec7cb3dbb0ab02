import { ActionIcon } from '@mantine/core'
import { IconCheck, IconCopy } from '@tabler/icons-react'
import { type ComponentProps, isValidElement, lazy, memo, type ReactNode, Suspense, useState } from 'react'
import { type Components, Streamdown } from 'streamdown'
import { Tip } from './Tip'
import './markdown.css'
import { safeAddress } from './safe-address'

const Highlighted = lazy(() => import('./Highlighted'))

/** Longer code is shown without colours. */
const LONGEST_COLOURED = 30_000
/** Longer texts are shown as they are: a text of this size is data, not prose. */
const LONGEST_FORMATTED = 200_000

/**
 * What a model wrote. HTML in it is shown as the text it is, links lead only to the web, pictures come only with the
 * message itself: nothing in it can run, load or leave.
 */
export const Markdown = memo(function Markdown({ text, live = false }: { text: string; live?: boolean }) {
  if (text.length > LONGEST_FORMATTED) return <pre className="md-plain">{text}</pre>
  return (
    <div className="md">
      <Streamdown
        mode={live ? 'streaming' : 'static'}
        parseIncompleteMarkdown={live}
        components={COMPONENTS}
        rehypePlugins={NO_PLUGINS}
        urlTransform={safeAddress}
        controls={false}
      >
        {text}
      </Streamdown>
    </div>
  )
})

const NO_PLUGINS: [] = []

function Anchor({ href, children }: ComponentProps<'a'>) {
  if (!href) return <span>{children}</span>
  return (
    <a href={href} target="_blank" rel="noopener noreferrer nofollow" title={href}>
      {children}
    </a>
  )
}

/** A picture from elsewhere would tell its server who reads this, and when: it becomes a link. */
function Picture({ src, alt }: ComponentProps<'img'>) {
  const label = `picture: ${alt || 'without a description'}`
  return typeof src === 'string' && src ? <Anchor href={src}>{label}</Anchor> : <span className="dim">{label}</span>
}

function Pre({ children }: { children?: ReactNode }) {
  const props = isValidElement<{ className?: string; children?: ReactNode }>(children) ? children.props : {}
  const language = /language-([\w+#-]+)/.exec(props.className ?? '')?.[1] ?? ''
  const code = typeof props.children === 'string' ? props.children : String(props.children ?? '')
  return <CodeBlock code={code.replace(/\n$/, '')} language={language} />
}

export function CodeBlock({ code, language }: { code: string; language: string }) {
  return (
    <div className="code-block">
      <div className="code-head">
        <span>{language || 'text'}</span>
        <CopyButton text={code} />
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
      <pre tabIndex={0}>
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

function Table({ children }: ComponentProps<'table'>) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
    <div className="md-table" tabIndex={0}>
      <table>{children}</table>
    </div>
  )
}

/** The plain element, without the classes of a style sheet that this app does not have. */
function plain(
  Tag:
    | 'p'
    | 'ul'
    | 'ol'
    | 'li'
    | 'blockquote'
    | 'strong'
    | 'em'
    | 'del'
    | 'thead'
    | 'tbody'
    | 'tr'
    | 'th'
    | 'td'
    | 'sup',
) {
  return function Plain({ children }: { children?: ReactNode }) {
    return <Tag>{children}</Tag>
  }
}

/** A message is part of a page that has its own headings: its first one is their third. */
function heading(level: number) {
  return function Heading({ children }: { children?: ReactNode }) {
    const Tag = `h${Math.min(level + 2, 6)}` as 'h3' | 'h4' | 'h5' | 'h6'
    return <Tag className={`md-h${level}`}>{children}</Tag>
  }
}

const COMPONENTS = {
  a: Anchor,
  img: Picture,
  pre: Pre,
  code: ({ children }: ComponentProps<'code'>) => <code>{children}</code>,
  inlineCode: ({ children }: ComponentProps<'code'>) => <code>{children}</code>,
  table: Table,
  hr: () => <hr />,
  h1: heading(1),
  h2: heading(2),
  h3: heading(3),
  h4: heading(4),
  h5: heading(5),
  h6: heading(6),
  p: plain('p'),
  ul: plain('ul'),
  ol: ({ children, start }: ComponentProps<'ol'>) => <ol start={start}>{children}</ol>,
  li: plain('li'),
  blockquote: plain('blockquote'),
  strong: plain('strong'),
  em: plain('em'),
  del: plain('del'),
  thead: plain('thead'),
  tbody: plain('tbody'),
  tr: plain('tr'),
  th: plain('th'),
  td: plain('td'),
  sup: plain('sup'),
} as Components
