import type { ReactNode } from 'react'
import { bytes } from '@/lib/format'
import type { FileContent } from '@/protocol/types'
import { DownloadFile } from './DownloadFile'

export function PictureFile(props: { session: string; content: FileContent; lead: ReactNode }) {
  const { session, content, lead } = props
  return (
    <>
      <header className="files-head">
        {lead}
        <span className="mono files-path" title={content.path}>
          <bdi>{content.path}</bdi>
        </span>
        <span className="dim files-actions">
          {content.media_type?.replace('image/', '').toUpperCase()}, {bytes(content.size)}
          <DownloadFile session={session} path={content.path} />
        </span>
      </header>
      <PictureOf path={content.path} source={`data:${content.media_type};base64,${content.data}`} />
    </>
  )
}

/** As an image and nothing else: nothing in it runs or loads, not even in a drawing that is a document. */
export function PictureOf({ path, source }: { path: string; source: string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
    <section className="files-picture" tabIndex={0} aria-label={`Picture ${path}`}>
      <img src={source} alt={path} />
    </section>
  )
}
