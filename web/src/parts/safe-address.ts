/** Where a link in a message may lead: the web and mail, nothing of this page, nothing that runs. */
export function safeAddress(address: string): string | null {
  try {
    const url = new URL(address, 'https://relative.invalid')
    if (url.hostname === 'relative.invalid') return null
    return ['http:', 'https:', 'mailto:'].includes(url.protocol) ? url.href : null
  } catch {
    return null
  }
}
