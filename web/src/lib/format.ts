/** Money with as many digits as matter: $0.0042, $3.18, $1,204. */
export function money(usd: number): string {
  if (usd === 0) return '$0.00'
  if (usd < 0.01) return `$${usd.toFixed(4)}`
  if (usd < 1000) return `$${usd.toFixed(2)}`
  return `$${Math.round(usd).toLocaleString('en')}`
}

/** What something cost. A request whose price is not known is told of, never taken for free. */
export function cost(usd: number, unpriced: number): string {
  if (unpriced === 0) return money(usd)
  return usd > 0 ? `${money(usd)}+?` : '$?'
}

/** The same where only the figure stands: of what has no price at all, the tokens are told. */
export function spend(usd: number, unpriced: number, used: number): string {
  return unpriced > 0 && usd === 0 ? `${tokens(used)} tokens` : cost(usd, unpriced)
}

/** Why a figure is not whole; empty when it is. */
export function leftOut(unpriced: number): string {
  if (unpriced === 0) return ''
  return `price unknown for ${unpriced} ${unpriced === 1 ? 'request' : 'requests'}`
}

/** 812, 12.4k, 3.1M. */
export function tokens(count: number): string {
  if (count < 1000) return String(count)
  if (count < 99_950) return `${(count / 1000).toFixed(1)}k`
  if (count < 999_500) return `${Math.round(count / 1000)}k`
  return `${(count / 1_000_000).toFixed(1)}M`
}

/** As the command line says it: 121 MB are 121 million bytes. */
export function bytes(count: number): string {
  if (count < 999.5) return `${count} B`
  if (count < 999_500) return `${Math.round(count / 1000)} kB`
  if (count < 999_500_000) return `${Math.round(count / 1_000_000)} MB`
  return `${(count / 1_000_000_000).toFixed(1)} GB`
}

/** 4 ms, 2.1 s, 1 m 20 s. */
export function duration(ms: number): string {
  if (ms < 1000) return `${Math.max(ms < 1 && ms > 0 ? 1 : 0, Math.round(ms))} ms`
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`
  const seconds = Math.round(ms / 1000)
  if (seconds < 3600) return `${Math.floor(seconds / 60)} m ${seconds % 60} s`
  return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} m`
}

/** now, 12 s, 5 min, 2 h, 3 d; after a month the date. Both in seconds. */
export function ago(at: number, now: number): string {
  const seconds = Math.max(0, Math.round(now - at))
  if (seconds < 5) return 'now'
  if (seconds < 60) return `${seconds} s`
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h`
  if (seconds < 30 * 86_400) return `${Math.floor(seconds / 86_400)} d`
  return new Date(at * 1000).toLocaleDateString()
}

export function exactTime(at: number): string {
  return new Date(at * 1000).toLocaleString()
}

/** The last folder of a path. */
export function folderName(path: string): string {
  return path.replace(/\/+$/, '').split('/').pop() || '/'
}

/** What will answer a session's next message: as the daemon says. */
export function answering(info: { model?: string; settings?: { model?: string } }): string {
  return info.model || info.settings?.model || ''
}

/** The model without its provider. */
export function modelName(model: string): string {
  return model.slice(model.indexOf('/') + 1)
}

export function firstLine(text: string): string {
  const line = text.trimStart().split('\n', 1)[0] ?? ''
  return line.length > 240 ? `${line.slice(0, 240)}…` : line
}

export function lastLine(text: string): string {
  return firstLine(text.trimEnd().split('\n').pop() ?? '')
}
