import type { List, ListItem, Nodes, PhrasingContent, RootContent, Table } from 'mdast'
import { createContext, type ReactNode, Suspense, useContext } from 'react'
import { later } from '@/lib/later'
import { CodeBlock } from '../CodeBlock'
import { MATHS } from '../maths'
import { PathLink, WithPaths } from '../paths/PathLink'
import { linkedPath, wholePath } from '../paths/parse'
import { safeAddress } from '../safe-address'
import type { Meanings } from './blocks'

const Maths = later(() => import('../Maths'), true)
const Diagram = later(() => import('../Diagram'), true)

interface About {
  meanings: Meanings
  /** Whether the text is still being written: what is drawn as a whole waits for its end. */
  live: boolean
}

/** What the text around a part of it says. */
export const AboutText = createContext<About>({ meanings: { links: new Map(), notes: [] }, live: false })

/** Within a link nothing else is to be clicked. */
const InLink = createContext(false)

/** The parts of a text, each as the element it stands for. HTML is none: it is shown as the text it is. */
export function Drawn({ nodes }: { nodes: Nodes[] }): ReactNode {
  return nodes.map((node, index) => <Node key={index} node={node} />)
}

function Node({ node }: { node: Nodes }): ReactNode {
  switch (node.type) {
    case 'text':
      return <Words text={node.value} />
    case 'html':
      return node.value
    case 'inlineCode':
      return <InlineCode code={node.value} />
    case 'code':
      return <Block code={node.value} language={/^[\w+#-]+/.exec(node.lang ?? '')?.[0] ?? ''} />
    case 'break':
      return <br />
    case 'thematicBreak':
      return <hr />
    case 'heading':
      return <Heading level={node.depth}>{drawn(node.children)}</Heading>
    case 'paragraph':
      return <p>{drawn(node.children)}</p>
    case 'blockquote':
      return <blockquote>{drawn(node.children)}</blockquote>
    case 'strong':
      return <strong>{drawn(node.children)}</strong>
    case 'emphasis':
      return <em>{drawn(node.children)}</em>
    case 'delete':
      return <del>{drawn(node.children)}</del>
    case 'list':
      return <ListOf list={node} />
    case 'table':
      return <TableOf table={node} />
    case 'link':
      return <Anchor address={node.url}>{node.children}</Anchor>
    case 'image':
      return <Picture address={node.url} alt={node.alt} />
    case 'linkReference':
      return <Named name={node.identifier}>{(address) => <Anchor address={address}>{node.children}</Anchor>}</Named>
    case 'imageReference':
      return <Named name={node.identifier}>{(address) => <Picture address={address} alt={node.alt} />}</Named>
    case 'footnoteReference':
      return <NoteMark name={node.identifier} />
    default:
      return null
  }
}

function Words({ text }: { text: string }) {
  return useContext(InLink) ? text : <WithPaths text={text} />
}

const drawn = (nodes: Nodes[]) => <Drawn nodes={nodes} />

/** A block of the whole text. What is HTML stands between others, so that it begins on a line of its own. */
export function BlockOf({ node }: { node: RootContent }): ReactNode {
  return node.type === 'html' ? <p>{node.value}</p> : <Node node={node} />
}

/** A message is part of a page that has its own headings: its first one is their third. */
function Heading({ level, children }: { level: number; children: ReactNode }) {
  const Tag = `h${Math.min(level + 2, 6)}` as 'h3' | 'h4' | 'h5' | 'h6'
  return <Tag className={`md-h${level}`}>{children}</Tag>
}

function ListOf({ list }: { list: List }) {
  const loose = list.spread || list.children.some(({ spread }) => spread)
  const items = list.children.map((item, index) => <Item key={index} item={item} loose={loose} />)
  return list.ordered ? <ol start={list.start ?? 1}>{items}</ol> : <ul>{items}</ul>
}

/** A task has its box in the place of a list's dot. */
function Item({ item, loose }: { item: ListItem; loose: boolean }) {
  const inside = item.children.map((child, index) =>
    child.type === 'paragraph' && !loose ? (
      <Drawn key={index} nodes={child.children} />
    ) : (
      <Node key={index} node={child} />
    ),
  )
  if (item.checked === null || item.checked === undefined) return <li>{inside}</li>
  const [words, ...below] = inside
  return (
    <li>
      <div className="md-task">
        <TaskBox checked={item.checked} />
        <div>{words}</div>
        {below.length > 0 && <div>{below}</div>}
      </div>
    </li>
  )
}

/** A box says what is done; it is nothing to click. */
function TaskBox({ checked }: { checked: boolean }) {
  return (
    <span className={checked ? 'md-box md-box-done' : 'md-box'} role="img" aria-label={checked ? 'done' : 'to do'}>
      {checked ? '✓' : ''}
    </span>
  )
}

function TableOf({ table }: { table: Table }) {
  const [head, ...rows] = table.children
  const cells = (Tag: 'th' | 'td', row = head) =>
    row?.children.map((cell, index) => {
      const side = table.align?.[index]
      return (
        <Tag key={index} style={side ? { textAlign: side } : undefined}>
          {drawn(cell.children)}
        </Tag>
      )
    })
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
    <div className="md-table" tabIndex={0}>
      <table>
        <thead>
          <tr>{cells('th')}</tr>
        </thead>
        {rows.length > 0 && (
          <tbody>
            {rows.map((row, index) => (
              <tr key={index}>{cells('td', row)}</tr>
            ))}
          </tbody>
        )}
      </table>
    </div>
  )
}

/** Leads to the web or to a file of the workspace; what would lead anywhere else is its words alone. */
function Anchor({ address, children }: { address: string; children: PhrasingContent[] | string }) {
  const words = typeof children === 'string' ? children : <InLink value={true}>{drawn(children)}</InLink>
  const web = safeAddress(address)
  if (web)
    return (
      <a href={web} target="_blank" rel="noopener noreferrer nofollow" title={web}>
        {words}
      </a>
    )
  const place = linkedPath(address)
  return place ? <PathLink place={place}>{words}</PathLink> : <span>{words}</span>
}

/** A picture from elsewhere would tell its server who reads this, and when: it becomes a link. */
function Picture({ address, alt }: { address: string; alt?: string | null }) {
  const label = `picture: ${alt || 'without a description'}`
  return safeAddress(address) ? <Anchor address={address}>{label}</Anchor> : <span className="dim">{label}</span>
}

function Named({ name, children }: { name: string; children: (address: string) => ReactNode }) {
  const { links } = useContext(AboutText).meanings
  return children(links.get(name)?.url ?? '')
}

function Block({ code, language }: { code: string; language: string }) {
  const { live } = useContext(AboutText)
  const block = <CodeBlock code={code} language={language} />
  if (live || (language !== 'math' && language !== 'mermaid')) return block
  return (
    <Suspense fallback={block}>{language === 'math' ? <Maths tex={code} block /> : <Diagram code={code} />}</Suspense>
  )
}

function InlineCode({ code }: { code: string }) {
  const inLink = useContext(InLink)
  if (code.startsWith(MATHS)) {
    const tex = code.slice(MATHS.length)
    return (
      <Suspense fallback={<code>{tex}</code>}>
        <Maths tex={tex} />
      </Suspense>
    )
  }
  const place = inLink ? null : wholePath(code)
  return place ? (
    <PathLink place={place}>
      <code>{code}</code>
    </PathLink>
  ) : (
    <code>{code}</code>
  )
}

function NoteMark({ name }: { name: string }) {
  const { notes } = useContext(AboutText).meanings
  const number = notes.findIndex(({ identifier }) => identifier === name) + 1
  return <sup>{number || name}</sup>
}

/** What the notes of a text say, below it. */
export function Notes() {
  const { notes } = useContext(AboutText).meanings
  if (notes.length === 0) return null
  return (
    <ol className="md-notes" aria-label="Notes">
      {notes.map(({ identifier, children }) => (
        <li key={identifier}>{drawn(children)}</li>
      ))}
    </ol>
  )
}
