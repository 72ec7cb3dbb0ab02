import type { MappedFile } from '@/protocol/types'

/** What of a map has these letters: a file that does is shown whole, of others only the names that do. */
export function narrowed(files: MappedFile[], query: string): MappedFile[] {
  const wanted = query.trim().toLowerCase()
  if (!wanted) return files
  return files.flatMap((file) => {
    if (file.path.toLowerCase().includes(wanted)) return [file]
    const symbols = file.symbols.filter((one) => `${one.symbol} ${one.signature ?? ''}`.toLowerCase().includes(wanted))
    return symbols.length > 0 ? [{ ...file, symbols }] : []
  })
}
