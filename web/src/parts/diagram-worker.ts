import './diagram-worker-setup'
import { renderMermaidSVG } from 'beautiful-mermaid'

export interface Wanted {
  id: number
  code: string
  colours: { bg: string; fg: string; accent: string; line: string; surface: string; border: string; muted: string }
}
export type Drawn = { id: number; svg: string } | { id: number; problem: string }

self.onmessage = ({ data }: MessageEvent<Wanted>) => {
  const { id, code, colours } = data
  try {
    const svg = renderMermaidSVG(code, { ...colours, font: 'Inter' })
    // It names a font on the web; nothing here loads from there.
    self.postMessage({ id, svg: svg.replace(/@import[^;]*;/g, '') } satisfies Drawn)
  } catch (problem) {
    self.postMessage({ id, problem: problem instanceof Error ? problem.message : String(problem) } satisfies Drawn)
  }
}
