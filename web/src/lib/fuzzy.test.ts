import { expect, it } from 'vitest'
import { fuzzy } from './fuzzy'

const FILES = [
  'README.md',
  'docs/web.md',
  'src/openagent/workbench/files.py',
  'src/openagent/protocol/files.py',
  'web/src/pages/session/FilesTab.tsx',
  'web/src/pages/session/FileTree.tsx',
  'web/src/pages/session/index.tsx',
  'web/src/pages/settings/index.tsx',
]
const best = (letters: string) => fuzzy(FILES, letters, (path) => path)[0]?.item

it('finds letters in their order, and nothing that lacks one', () => {
  expect(best('rdme')).toBe('README.md')
  expect(fuzzy(FILES, 'zzz', (path) => path)).toEqual([])
  expect(fuzzy(FILES, '', (path) => path, 3).map(({ item }) => item)).toEqual(FILES.slice(0, 3))
})

it('prefers the beginnings of words, and the name of the file', () => {
  expect(best('ft')).toMatch(/FilesTab|FileTree/)
  expect(best('files')).toMatch(/files\.py$/)
  expect(best('filestab')).toBe('web/src/pages/session/FilesTab.tsx')
  expect(best('sessind')).toBe('web/src/pages/session/index.tsx')
  expect(best('protfil')).toBe('src/openagent/protocol/files.py')
})

it('takes several words in any order', () => {
  expect(best('index settings')).toBe('web/src/pages/settings/index.tsx')
  expect(best('files workb')).toBe('src/openagent/workbench/files.py')
})

it('tells where the letters are', () => {
  const [found] = fuzzy(['docs/web.md'], 'web', (path) => path)
  expect(found?.places).toEqual([5, 6, 7])
})
