import { create } from 'zustand'
import { useLink } from '@/state/link'

/** Whether the daemon serves another build of this app than the one in this tab. */
export const useVersion = create<{ newer: boolean }>(() => ({ newer: false }))

/** The address of the script this tab runs: it carries a hash of the whole app. */
let own = ''

/** Looks for another build each time the daemon is back: an upgrade restarts it. */
export function watchVersion(script: string): void {
  own = new URL(script).pathname
  let before = useLink.getState().link.state
  useLink.subscribe(({ link }) => {
    if (link.state !== before && link.state === 'open') void isNewer()
    // A daemon that does not talk to this version any more leaves nothing to wait for.
    if (link.state !== before && link.state === 'refused')
      void isNewer().then((newer) => newer && canLeave() && loadAgain())
    before = link.state
  })
}

export async function isNewer(): Promise<boolean> {
  if (!own.startsWith('/assets/')) return false
  const page = await fetch('/', { cache: 'no-store' })
    .then((answer) => (answer.ok && !answer.redirected ? answer.text() : ''))
    .catch(() => '')
  const newer = page.includes('/assets/') && !page.includes(own)
  if (newer) useVersion.setState({ newer })
  return newer
}

/** Whether nothing would be lost with this page: asks all who would ask a person that closes it. */
export function canLeave(): boolean {
  return dispatchEvent(new Event('beforeunload', { cancelable: true }))
}

const AGAIN = 'openagent.loaded-again'
const ONCE_IN = 20_000

/** Loads the page anew, at most once in a while: false when it just was, so that it never goes round and round. */
export function loadAgain(address = location.href): boolean {
  const last = Number(sessionStorage.getItem(AGAIN) ?? 0)
  if (Date.now() - last < ONCE_IN) return false
  sessionStorage.setItem(AGAIN, String(Date.now()))
  location.assign(address)
  if (address.split('#')[0] === location.href.split('#')[0]) location.reload()
  return true
}
