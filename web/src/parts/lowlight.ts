// The grammars are of the library that comes with lowlight, which says to take them from there.
import bash from 'highlight.js/lib/languages/bash'
import css from 'highlight.js/lib/languages/css'
import diff from 'highlight.js/lib/languages/diff'
import ini from 'highlight.js/lib/languages/ini'
import javascript from 'highlight.js/lib/languages/javascript'
import json from 'highlight.js/lib/languages/json'
import markdown from 'highlight.js/lib/languages/markdown'
import plaintext from 'highlight.js/lib/languages/plaintext'
import python from 'highlight.js/lib/languages/python'
import shell from 'highlight.js/lib/languages/shell'
import typescript from 'highlight.js/lib/languages/typescript'
import xml from 'highlight.js/lib/languages/xml'
import yaml from 'highlight.js/lib/languages/yaml'
import { createLowlight } from 'lowlight'
import { patiently } from '@/lib/later'

/** Loaded with the first code that is shown in colours, with what agents write most and what stands inside of that. */
export const lowlight = createLowlight({
  bash,
  css,
  diff,
  ini,
  javascript,
  json,
  markdown,
  plaintext,
  python,
  shell,
  typescript,
  xml,
  yaml,
})

const load = patiently(() => import('./more-languages'))
let more: Promise<void> | null = null
let areAllThere = false

/** The other languages, with the first code in one of them. Code without colours is no reason to break a page. */
function loadMore(): Promise<void> {
  more ??= load()
    .then(({ default: common }) => lowlight.register(common))
    .catch(() => {})
    .finally(() => {
      areAllThere = true
    })
  return more
}

/** What is still to be waited for before this language can be coloured; null: nothing. */
export function awaited(language: string): Promise<void> | null {
  return areAllThere || lowlight.registered(language) ? null : loadMore()
}
