/** Hands the person a file. */
export function download(name: string, content: string | Blob, type = 'application/octet-stream'): void {
  const address = URL.createObjectURL(new Blob([content], { type }))
  const link = document.createElement('a')
  link.href = address
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(address), 10_000)
}

/** One line of a table for spreadsheets. A leading sign would be run as a formula there. */
export function csvLine(cells: (string | number)[]): string {
  return cells
    .map((cell) => {
      const text = typeof cell === 'string' && /^[=+\-@\t\r]/.test(cell) ? `'${cell}` : String(cell)
      return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
    })
    .join(',')
}
