import type { Attachment } from './attachments'

/** What was attached and not sent, by session. Pictures are too large for where drafts of text are kept. */
const [DATABASE, STORE] = ['openagent', 'attached']
/** Of one session; the oldest sessions are forgotten beyond so many. */
const LARGEST = 20_000_000
const MOST = 20

interface Kept {
  session: string
  attached: Attachment[]
  at: number
}

export class TooLarge extends Error {}

/** One after the other, so that nobody reads what is about to be written. */
let turn: Promise<unknown> = Promise.resolve()

function inTurn<T>(work: () => Promise<T>): Promise<T> {
  const done = turn.then(work)
  turn = done.catch(() => undefined)
  return done
}

/** Rejects with words for the person where it cannot be kept; then it lives as long as the page. */
export function keepFiles(session: string, attached: Attachment[]): Promise<void> {
  return inTurn(async () => {
    const size = attached.reduce((sum, { part }) => sum + (part.type === 'image' ? part.data : part.text).length, 0)
    const store = await opened('readwrite')
    if (attached.length === 0 || size > LARGEST) await done(store.delete(session))
    else await done(store.put({ session, attached, at: Date.now() } satisfies Kept))
    if (size > LARGEST)
      throw new TooLarge('More than 20 MB is attached: it can be sent, but a reload of this page loses it.')
    const all = (await done(store.getAll())) as Kept[]
    const old = all.sort((one, other) => other.at - one.at).slice(MOST)
    await Promise.all(old.map((one) => done(store.delete(one.session))))
  })
}

export function filesKept(session: string): Promise<Attachment[]> {
  return inTurn(async () => {
    const found = (await done((await opened('readonly')).get(session))) as Kept | undefined
    return found?.attached ?? []
  })
}

async function opened(mode: IDBTransactionMode): Promise<IDBObjectStore> {
  const request = indexedDB.open(DATABASE, 1)
  request.onupgradeneeded = () => request.result.createObjectStore(STORE, { keyPath: 'session' })
  const database = await done(request)
  const transaction = database.transaction(STORE, mode)
  transaction.oncomplete = () => database.close()
  return transaction.objectStore(STORE)
}

function done<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result)
    request.onerror = () => reject(request.error)
  })
}
