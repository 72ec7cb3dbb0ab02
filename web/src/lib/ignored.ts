import type { ChangedFile } from '@/protocol/types'

/** Those that git knows of, and those that it ignores. */
export function apart<T>(files: readonly T[], of: (each: T) => ChangedFile): [T[], T[]] {
  return [files.filter((each) => !of(each).ignored), files.filter((each) => of(each).ignored)]
}

/** "2 files", "2 files and 3 ignored ones": those that git ignores are never counted with the others. */
export function countWords(files: readonly ChangedFile[]): string {
  const [known, ignored] = apart(files, (file) => file)
  if (ignored.length === 0) return filesWords(known.length)
  if (known.length === 0) return ignoredWords(ignored.length)
  return `${filesWords(known.length)} and ${ignored.length} ignored ${ignored.length === 1 ? 'one' : 'ones'}`
}

export function filesWords(count: number): string {
  return `${count} ${count === 1 ? 'file' : 'files'}`
}

export function ignoredWords(count: number): string {
  return `${count} ignored ${count === 1 ? 'file' : 'files'}`
}

export function churnOf(files: readonly ChangedFile[]): { added: number; removed: number } {
  const sum = (of: 'added' | 'removed') => files.reduce((total, file) => total + (file[of] ?? 0), 0)
  return { added: sum('added'), removed: sum('removed') }
}
