import { folderName } from '@/lib/format'

const KINDS: Record<string, string> = {
  skills: 'the skills there are',
  git: 'what changed in git',
  map: 'a map of the code',
  code: 'code that may matter',
  summary: 'a summary of what came before',
  retry: 'where the answer was cut short',
  background: 'news from the background',
}

/** What a note to the model is about, in a person's words. */
export function aboutNote(source: string): string {
  const [kind = '', name = ''] = source.split(/:(.*)/s)
  if (kind === 'rules') return `the rules in ${folderName(name)}`
  if (kind === 'command') return `what /${name} means`
  if (kind === 'hook') return `a note of the hook ${name}`
  return KINDS[kind] ?? source
}
