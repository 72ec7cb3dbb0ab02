import { useEffect } from 'react'
import { usePageTitle } from '@/lib/title'
import { useByTurn } from '@/state/attention'

const PLAIN = '/icon.svg'

/** The tab's title and icon count what needs the person: seen also from another tab. */
export function useBadge(): void {
  const count = useByTurn().needsYou.length
  const title = usePageTitle((state) => state.title)
  useEffect(() => {
    document.title = titleWith(count, title)
  }, [count, title])
  useEffect(() => {
    document.querySelector<HTMLLinkElement>('link[rel="icon"]')?.setAttribute('href', iconWith(count))
  }, [count])
}

export function titleWith(count: number, title: string): string {
  return `${count > 0 ? `(${count}) ` : ''}${title ? `${title} · ` : ''}OpenAgent`
}

export function iconWith(count: number): string {
  if (count === 0) return PLAIN
  const words = count > 9 ? '9+' : String(count)
  const drawn =
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">' +
    '<rect width="32" height="32" rx="8" fill="#4f46e5"/>' +
    '<circle cx="13" cy="19" r="7" fill="none" stroke="#fff" stroke-width="3"/>' +
    '<circle cx="22" cy="10" r="10" fill="#f0b94d"/>' +
    `<text x="22" y="15" font-family="sans-serif" font-size="${words.length > 1 ? 12 : 15}" font-weight="700" ` +
    `text-anchor="middle" fill="#1a1d26">${words}</text></svg>`
  return `data:image/svg+xml,${encodeURIComponent(drawn)}`
}
