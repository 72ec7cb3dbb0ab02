interface Readable {
  code: string
  language: string
  /** What it is, in words. */
  note: string
}

/** JSON in lines; a stream of events stays as it came, because where each begins and ends is part of it. */
export function readable(text: string): Readable {
  try {
    return { code: JSON.stringify(JSON.parse(text), null, 2), language: 'json', note: 'JSON' }
  } catch {
    const streamed = /^(data|event|id|:)/.test(text.trimStart())
    return { code: text.trimEnd(), language: '', note: streamed ? 'events, as they came' : 'text' }
  }
}
