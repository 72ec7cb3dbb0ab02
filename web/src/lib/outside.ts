/** Of a file that something outside the sandbox runs later, in the words of the other clients. */
export function outsideWords(reason: string): string {
  return `runs outside the sandbox: ${reason}`
}
