import { tellProblem } from './ask'

/** Ends this browser's login at the daemon. False: it goes on, and the person was told why. */
export async function signOut(): Promise<boolean> {
  try {
    const answer = await fetch('/api/logout', { method: 'POST' })
    // Whoever was let in no longer is out already.
    if (!answer.ok && answer.status !== 401) throw new Error('The daemon did not end the login.')
    location.assign('/login')
    return true
  } catch (problem) {
    tellProblem(problem)
    return false
  }
}
