/** A sentence in which what stands between backticks is code. */
export function Words({ text }: { text: string }) {
  return text.split('`').map((piece, place) => (place % 2 ? <code key={place}>{piece}</code> : piece))
}
