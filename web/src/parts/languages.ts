const BY_ENDING: Record<string, string> = {
  py: 'python',
  pyi: 'python',
  js: 'javascript',
  mjs: 'javascript',
  cjs: 'javascript',
  jsx: 'javascript',
  ts: 'typescript',
  tsx: 'typescript',
  md: 'markdown',
  sh: 'bash',
  bash: 'bash',
  zsh: 'bash',
  yml: 'yaml',
  yaml: 'yaml',
  toml: 'ini',
  ini: 'ini',
  cfg: 'ini',
  rs: 'rust',
  rb: 'ruby',
  kt: 'kotlin',
  cs: 'csharp',
  h: 'c',
  cc: 'cpp',
  hpp: 'cpp',
  htm: 'xml',
  html: 'xml',
  svg: 'xml',
  mk: 'makefile',
  pl: 'perl',
  ex: 'elixir',
}

/** What a file is written in, as the highlighter calls it; its ending where nothing better is known. */
export function languageOf(path: string): string {
  const name = path.split('/').pop()?.toLowerCase() ?? ''
  if (name === 'makefile' || name === 'dockerfile') return name === 'makefile' ? 'makefile' : 'bash'
  const ending = name.includes('.') ? (name.split('.').pop() ?? '') : ''
  return BY_ENDING[ending] ?? ending
}
