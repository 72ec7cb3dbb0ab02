/** Words of the documentation: what stands between backquotes is code. */
export function WithCode({ text }: { text: string }) {
  return text.split('`').map((piece, index) => (index % 2 === 1 ? <code key={index}>{piece}</code> : piece))
}
