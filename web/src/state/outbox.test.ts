import { beforeEach, expect, it, vi } from 'vitest'

const { requests, Refusal } = vi.hoisted(() => {
  class Refusal extends Error {
    readonly info = { code: 'invalid_argument' }
  }
  return {
    Refusal,
    requests: [] as { fields: Record<string, unknown>; id: string; end: (how: 'done' | 'lost' | 'refused') => void }[],
  }
})
vi.mock('@/connection/connection', () => ({ Refusal }))
vi.mock('./daemon', () => ({
  daemon: {
    request: (_op: string, fields: Record<string, unknown>, id: string) =>
      new Promise((resolve, reject) => {
        const end = (how: 'done' | 'lost' | 'refused') => {
          if (how === 'done') resolve({})
          else reject(how === 'lost' ? new Error('lost') : new Refusal('no'))
        }
        requests.push({ fields, id, end })
      }),
  },
}))
vi.stubGlobal('sessionStorage', { getItem: () => null, setItem: () => {}, removeItem: () => {} })
vi.stubGlobal('addEventListener', () => {})

const { useLink } = await import('./link')
const { say, startOutbox, tryAgain, useOutbox } = await import('./outbox')
startOutbox()

const settle = () => new Promise((resolve) => setTimeout(resolve))
const open = () => useLink.setState({ link: { state: 'open' } })
const away = () => useLink.setState({ link: { state: 'lost', retryAt: 0, why: '' } })
const unsent = () => useOutbox.getState().unsent.map(({ text }) => text)

beforeEach(() => {
  requests.length = 0
  useOutbox.setState({ unsent: [] })
  away()
})

it('keeps what is said while the line is down, and sends it in order when it is back', async () => {
  say('s', 'one')
  say('s', 'two')
  await settle()
  expect(requests).toHaveLength(0)
  open()
  await settle()
  expect(requests.map(({ fields }) => fields)).toEqual([{ session: 's', text: 'one', parts: [], again: false }])
  requests[0]?.end('done')
  await settle()
  requests[1]?.end('done')
  await settle()
  expect(requests.map(({ fields }) => fields.text)).toEqual(['one', 'two'])
  expect(unsent()).toEqual([])
})

it('sends one whose answer was lost again under the same id, and says that it may have come before', async () => {
  open()
  say('s', 'one')
  await settle()
  away()
  requests[0]?.end('lost')
  await settle()
  expect(unsent()).toEqual(['one'])
  open()
  await settle()
  expect(requests.map(({ id }) => id)).toEqual([requests[0]?.id, requests[0]?.id])
  expect(requests[1]?.fields.again).toBe(true)
  requests[1]?.end('done')
  await settle()
  expect(unsent()).toEqual([])
})

it('keeps what was refused, and what is behind it, until it is tried again', async () => {
  open()
  say('s', 'one')
  say('s', 'two')
  await settle()
  requests[0]?.end('refused')
  await settle()
  expect(requests).toHaveLength(1)
  expect(useOutbox.getState().unsent[0]?.problem).toBe('no')
  tryAgain(useOutbox.getState().unsent[0]?.id ?? '')
  await settle()
  requests[1]?.end('done')
  await settle()
  requests[2]?.end('done')
  await settle()
  expect(unsent()).toEqual([])
})
