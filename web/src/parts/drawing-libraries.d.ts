/** What is used of the libraries that draw. */
declare module 'katex' {
  const katex: { render: (tex: string, into: HTMLElement, options: Record<string, unknown>) => void }
  export default katex
}
declare module 'beautiful-mermaid' {
  export function renderMermaidSVG(code: string, options: Record<string, string>): string
}
