import type { FlowInfo, FlowStepInfo } from '@/protocol/types'

export interface Node {
  name: string
  kind: 'input' | 'step'
  step: FlowStepInfo | null
  x: number
  y: number
  width: number
  height: number
}

export interface Edge {
  from: string
  to: string
  /** The order in which steps run, or something that one takes from another. */
  kind: 'order' | 'takes'
  path: string
}

export interface Drawing {
  width: number
  height: number
  nodes: Node[]
  edges: Edge[]
}

const WIDTH = 176
const INPUT = { width: 120, height: 32 }
const GAP = 48
const LINE = 20
/** Room for the line that leads back to a step that is repeated, and for those that go around steps. */
const LOOP = 28
const AROUND = 22
const BARE = 6

/** Steps from left to right as they run, inputs before them; what skips a step goes below. */
export function draw({ plan = [], inputs = {} }: Pick<FlowInfo, 'plan' | 'inputs'>): Drawing {
  const names = Object.keys(inputs)
  const tall = Math.max(names.length * (INPUT.height + 8), ...plan.map(heightOf), 0)
  const above = plan.some(({ until }) => until) ? LOOP : BARE
  const middle = above + tall / 2
  const left = names.length > 0 ? INPUT.width + GAP : 0
  const nodes: Node[] = [
    ...names.map((name, at): Node => {
      const top = middle - (names.length * (INPUT.height + 8) - 8) / 2
      return { name, kind: 'input', step: null, x: 0, y: top + at * (INPUT.height + 8), ...INPUT }
    }),
    ...plan.map((step, at): Node => {
      const height = heightOf(step)
      const x = left + at * (WIDTH + GAP)
      return { name: step.name, kind: 'step', step, x, y: middle - height / 2, width: WIDTH, height }
    }),
  ]
  const found = new Map(nodes.map((node) => [node.name, node]))
  const edges: Edge[] = []
  let lanes = 0
  for (const [at, step] of plan.entries()) {
    const to = found.get(step.name)
    const before = plan[at - 1]
    if (!to) continue
    if (before)
      edges.push({ from: before.name, to: step.name, kind: 'order', path: straight(found.get(before.name)!, to) })
    for (const name of step.takes ?? []) {
      const from = found.get(name)
      if (!from || name === before?.name) continue
      const near = from.kind === 'input' && at === 0
      if (!near) lanes += 1
      const path = near ? straight(from, to) : around(from, to, above + tall + 6 + lanes * 8)
      edges.push({ from: name, to: step.name, kind: 'takes', path })
    }
  }
  const width = Math.max(...nodes.map((node) => node.x + node.width), 0)
  return { width, height: above + tall + (lanes > 0 ? AROUND + lanes * 8 : BARE), nodes, edges }
}

function heightOf({ agents = [], until }: FlowStepInfo): number {
  return 34 + agents.length * LINE + (until ? LINE : 0)
}

function straight(from: Node, to: Node): string {
  const [x1, y1] = [from.x + from.width, from.y + from.height / 2]
  const [x2, y2] = [to.x, to.y + to.height / 2]
  const half = (x1 + x2) / 2
  return `M${x1} ${y1} C${half} ${y1} ${half} ${y2} ${x2 - 5} ${y2}`
}

/** Down from the right end of one, along a line of its own, and up to the other. */
function around(from: Node, to: Node, y: number): string {
  const x1 = from.kind === 'input' ? from.x + from.width : from.x + from.width - 16
  const y1 = from.kind === 'input' ? from.y + from.height / 2 : from.y + from.height
  const x2 = to.x + 20
  const bend = from.kind === 'input' ? `H${x1 + 12} ` : ''
  return `M${x1} ${y1} ${bend}V${y - 6} Q${x1 + (bend ? 12 : 0)} ${y} ${x1 + (bend ? 18 : 6)} ${y} H${x2 - 6} Q${x2} ${y} ${x2} ${y - 6} V${to.y + to.height + 5}`
}

/** Out at the right of a step that is repeated, and in again at its top. */
export function loopPath(node: Node): string {
  const right = node.x + node.width - 24
  return `M${right} ${node.y} v-8 q0 -8 -8 -8 H${node.x + 40} q-8 0 -8 8 v3`
}
