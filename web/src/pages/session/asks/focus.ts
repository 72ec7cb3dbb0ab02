/** Leads to what waits for an answer above the input: its keys count there, and what was written stays. */
export function focusAsk(): void {
  document.querySelector<HTMLElement>('.session-bottom .ask')?.focus()
}
