/** Markdown as the words it says, on lines: for places too small to set it. */
export function plainWords(text: string): string {
  return text
    .replace(/^```[^\n]*$/gm, '')
    .split('\n')
    .map(plainLine)
    .filter(Boolean)
    .join('\n')
}

function plainLine(line: string): string {
  if (/^\s*\|?[\s:|-]+\|[\s:|-]*$/.test(line) || /^\s*([-*_]\s*){3,}$/.test(line)) return ''
  return line
    .replace(/^\s*(?:#{1,6}\s+|>\s?|(?:[-*+]|\d+[.)])\s+(?:\[[ xX]\]\s+)?)+/, '')
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/(\*\*|__)(?=\S)(.+?)(?<=\S)\1/g, '$2')
    .replace(/(?<![\w*])[*_](?=\S)([^*_]+?)(?<=\S)[*_](?![\w*])/g, '$1')
    .replace(/~~(.+?)~~/g, '$1')
    .replace(/`([^`]+)`/g, '$1')
    .replace(/^\s*\|/, '')
    .replace(/\|\s*$/, '')
    .replace(/\s*\|\s*/g, ' · ')
    .trim()
}
