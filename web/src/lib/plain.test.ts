import { expect, it } from 'vitest'
import { plainWords } from './plain'

it.each([
  ['## What I did', 'What I did'],
  ['All **done**: `retry.py` and *more*', 'All done: retry.py and more'],
  ['- [x] see [the docs](https://example.org)', 'see the docs'],
  ['| run | result |\n|---|---|\n| 1 | ok |', 'run · result\n1 · ok'],
  ['```python\nx = 1\n```', 'x = 1'],
  ['snake_case_name and 2 * 3 * 4', 'snake_case_name and 2 * 3 * 4'],
  ['1. clamp it\n2. run the tests', 'clamp it\nrun the tests'],
])('says %j without its marks', (text, words) => {
  expect(plainWords(text)).toBe(words)
})
