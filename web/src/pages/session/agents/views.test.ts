import { expect, it } from 'vitest'
import type { AgentInfo, SessionInfo, ToolCallPart } from '@/protocol/types'
import { agentsOfCall, doingWords, viewOf } from './views'

const info = (id: string, more: Partial<SessionInfo> = {}): SessionInfo => ({
  id,
  name: 'reviewer: Look at retry.py',
  cwd: '/w',
  created_at: 10,
  updated_at: 20,
  ...more,
})
const started = {
  child: 'c1',
  template: 'coder',
  task: 'Mend it\nwell',
  model: '',
  callId: 'call',
  startedAt: 12,
  detail: '',
  finished: null,
}

it('tells what an agent does in words', () => {
  expect(doingWords('shell pytest -q', 'executing_tool')).toBe('running pytest -q')
  expect(doingWords('read_file a b.py', 'executing_tool')).toBe('reading a b.py')
  expect(doingWords('', 'thinking')).toBe('thinking')
  expect(doingWords('shell x', 'waiting_approval')).toBe('waits for you')
})

it('shows one at work by the events, and its failure with the reason', () => {
  const at = viewOf('c1', {
    agent: { ...started, detail: 'shell make' },
    info: info('c1', { status: 'executing_tool' }),
  })
  expect(at).toMatchObject({ template: 'coder', task: 'Mend it', running: true, doing: 'running make', failure: '' })
  const error = { code: 'provider_error' as const, message: 'The key is refused.' }
  const ended = viewOf('c1', { agent: { ...started, finished: { reason: 'error', error, durationMs: 40 } } })
  expect(ended).toMatchObject({ running: false, failure: 'Failed: The key is refused.', tookMs: 40 })
})

it('knows one only by the tree after a reload', () => {
  const member: AgentInfo = { session: info('c2'), depth: 1, ended: 'time_limit', took_ms: 900 }
  expect(viewOf('c2', { member })).toMatchObject({
    template: 'reviewer',
    task: 'Look at retry.py',
    running: false,
    failure: 'Stopped: its time was up.',
    tookMs: 900,
  })
})

it('finds the agents of a call by event, by result, and by name', () => {
  const call: ToolCallPart = {
    type: 'tool_call',
    id: 'call',
    name: 'agent',
    arguments: { tasks: [{ template: 'reviewer', task: 'Look at\nretry.py' }] },
  }
  expect(agentsOfCall(call, null, { c1: started }, [])).toEqual(['c1'])
  expect(
    agentsOfCall(
      call,
      { type: 'tool_result', call_id: 'call', name: 'agent', text: '', display: { agents: [{ session: 'c9' }] } },
      {},
      [],
    ),
  ).toEqual(['c9'])
  expect(agentsOfCall(call, null, {}, [{ session: info('c2') }, { session: info('x', { name: 'y' }) }])).toEqual(['c2'])
})
