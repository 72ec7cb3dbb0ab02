import { expect, it } from 'vitest'
import { draw } from './layout'

const plan = [
  { name: 'plan', agents: [{ template: 'architect', task: '{task}' }], takes: ['task'] },
  {
    name: 'build',
    agents: [
      { template: 'coder', task: '{plan}' },
      { template: 'tester', task: '{plan}' },
    ],
    takes: ['plan'],
  },
  { name: 'fix', agents: [{ template: 'coder', task: '{plan} {task}' }], until: 'make test', takes: ['plan', 'task'] },
]

it('sets steps from left to right, and none over another', () => {
  const { nodes, width, height } = draw({ plan, inputs: { task: 'What' } })
  expect(nodes.map(({ name }) => name)).toEqual(['task', 'plan', 'build', 'fix'])
  for (const [at, node] of nodes.entries()) {
    const next = nodes[at + 1]
    if (next) expect(next.x).toBeGreaterThanOrEqual(node.x + node.width)
    expect(node.x + node.width).toBeLessThanOrEqual(width)
    expect(node.y + node.height).toBeLessThanOrEqual(height)
    expect(node.y).toBeGreaterThanOrEqual(0)
  }
})

it('draws the order, and what a step takes from others than the one before it', () => {
  const { edges } = draw({ plan, inputs: { task: 'What' } })
  expect(edges.map(({ from, to, kind }) => `${from} ${kind} ${to}`)).toEqual([
    'task takes plan',
    'plan order build',
    'build order fix',
    'plan takes fix',
    'task takes fix',
  ])
})

it('draws nothing of a flow without steps', () => {
  expect(draw({})).toEqual({ width: 0, height: 12, nodes: [], edges: [] })
})
