/** How much of the whole, in percent. */
export function share(part: number, whole: number): string {
  const percent = (100 * part) / Math.max(whole, 1)
  return percent > 0 && percent < 1 ? '<1 %' : `${Math.round(percent)} %`
}

/** Neighbours differ. */
export const toneOf = (at: number): string => `context-tone-${at % 6}`
