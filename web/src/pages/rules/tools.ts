/** What a person types for a tool, and an example of it. */
export function givenTo(tool: string): { label: string; example: string } {
  if (tool === 'shell') return { label: 'Command', example: 'git push --force origin main' }
  if (tool === 'git') return { label: 'Command', example: 'git reset --hard HEAD~1' }
  if (tool === 'execute_code') return { label: 'Code', example: 'import shutil; shutil.rmtree("build")' }
  if (/^(read_file|write_file|edit_file|list_dir)$/.test(tool)) return { label: 'File', example: 'src/app.py' }
  if (tool === 'web_fetch') return { label: 'Address', example: 'https://example.com/page' }
  return { label: 'What it is given', example: '' }
}
