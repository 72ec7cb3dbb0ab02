import { daemon } from '@/state/daemon'

/** All of a file, piece by piece: no answer has to be as large as it is. */
export async function wholeFile(session: string, path: string): Promise<Blob> {
  const pieces: Uint8Array<ArrayBuffer>[] = []
  let version = ''
  for (let start = 0; ; ) {
    const found = await daemon.request('files.read', { session, path, start })
    if (start > 0 && found.version !== version)
      throw new Error(`${path} was changed while it was fetched. Download it again.`)
    version = found.version ?? ''
    const bytes = Uint8Array.from(atob(found.data ?? ''), (each) => each.charCodeAt(0))
    pieces.push(bytes)
    start += bytes.length
    if (bytes.length === 0 || start >= found.size) return new Blob(pieces)
  }
}
