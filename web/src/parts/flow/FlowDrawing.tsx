import { useId, useMemo } from 'react'
import type { FlowInfo, FlowStepReport } from '@/protocol/types'
import { draw, loopPath, type Node } from './layout'
import './flow.css'

interface Props {
  flow: Pick<FlowInfo, 'plan' | 'inputs'>
  /** How its steps are doing, by name. */
  reports?: FlowStepReport[]
  chosen?: string
  choose?: (step: string) => void
}

export const STEP_WORDS: Record<NonNullable<FlowStepReport['state']>, string> = {
  waiting: 'waits',
  running: 'at work',
  done: 'done',
  failed: 'failed',
}
const MARKS = { waiting: '·', running: '●', done: '✓', failed: '✗' }

/** A flow as boxes and lines: what runs after what, who works side by side, what is repeated until a check passes. */
export function FlowDrawing({ flow, reports = [], chosen, choose }: Props) {
  const drawing = useMemo(() => draw(flow), [flow])
  const arrow = useId()
  if (drawing.nodes.length === 0) return null
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
    <section className="flow-drawing" aria-label="The flow, drawn" tabIndex={0}>
      <div className="flow-canvas" style={{ width: drawing.width, height: drawing.height }}>
        <svg width={drawing.width} height={drawing.height} aria-hidden>
          <defs>
            <marker id={arrow} viewBox="0 0 6 6" refX="5" refY="3" markerWidth="6" markerHeight="6" orient="auto">
              <path d="M0 0 L6 3 L0 6 z" fill="context-stroke" />
            </marker>
          </defs>
          {drawing.edges.map((edge) => (
            <path
              key={`${edge.from} ${edge.to} ${edge.kind}`}
              d={edge.path}
              className={`flow-edge flow-edge-${edge.kind}`}
              markerEnd={`url(#${arrow})`}
            />
          ))}
          {drawing.nodes
            .filter(({ step }) => step?.until)
            .map((node) => (
              <path
                key={node.name}
                d={loopPath(node)}
                className="flow-edge flow-edge-order"
                markerEnd={`url(#${arrow})`}
              />
            ))}
        </svg>
        {drawing.nodes.map((node) => (
          <FlowNode
            key={`${node.kind} ${node.name}`}
            node={node}
            report={reports.find(({ name }) => name === node.name)}
            chosen={chosen === node.name}
            choose={node.kind === 'step' ? choose : undefined}
          />
        ))}
      </div>
    </section>
  )
}

function FlowNode(props: {
  node: Node
  report: FlowStepReport | undefined
  chosen: boolean
  choose: ((step: string) => void) | undefined
}) {
  const { node, report, chosen, choose } = props
  const place = { left: node.x, top: node.y, width: node.width, height: node.height }
  if (node.kind === 'input')
    return (
      <div className="flow-node flow-input cut" style={place} title={`Input: ${node.name}`}>
        {node.name}
      </div>
    )
  const state = report?.state ?? 'waiting'
  const inside = (
    <>
      <span className="flow-node-head">
        {report && (
          <span className={`flow-mark flow-mark-${state}`} role="img" aria-label={STEP_WORDS[state]}>
            {MARKS[state]}
          </span>
        )}
        <strong className="cut">{node.name}</strong>
        {(node.step?.max_rounds ?? 1) > 1 && <span className="dim flow-rounds">≤ {node.step?.max_rounds} ×</span>}
      </span>
      {(node.step?.agents ?? []).map((agent, at) => (
        <span key={at} className="flow-agent cut" title={agent.task}>
          {agent.template}
        </span>
      ))}
      {node.step?.until && (
        <span className="flow-until mono cut" title={`until ${node.step.until} passes`}>
          until {node.step.until}
        </span>
      )}
    </>
  )
  const name = `flow-node flow-step flow-${report ? state : 'plain'}${chosen ? ' flow-chosen' : ''}`
  if (!choose)
    return (
      <div className={name} style={place}>
        {inside}
      </div>
    )
  return (
    <button type="button" className={name} style={place} aria-pressed={chosen} onClick={() => choose(node.name)}>
      {inside}
    </button>
  )
}
