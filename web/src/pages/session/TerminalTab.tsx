import '@xterm/xterm/css/xterm.css'
import { Button, useComputedColorScheme } from '@mantine/core'
import { FitAddon } from '@xterm/addon-fit'
import { Terminal } from '@xterm/xterm'
import { useEffect, useRef, useState } from 'react'
import { tellProblem } from '@/lib/ask'
import { ErrorState } from '@/parts/states'
import type { SessionInfo } from '@/protocol/types'
import { daemon } from '@/state/daemon'
import { useLink } from '@/state/link'
import './terminal.css'

/** Which terminal belongs to which session: it goes on while another tab is looked at, and through a reload. */
const known = {
  get: (session: string) => sessionStorage.getItem(`openagent.terminal.${session}`),
  set: (session: string, id: string) => sessionStorage.setItem(`openagent.terminal.${session}`, id),
  delete: (session: string) => sessionStorage.removeItem(`openagent.terminal.${session}`),
}

const THEMES = {
  dark: { background: '#0e1015', foreground: '#e6e8ee', cursor: '#a5abff', selectionBackground: '#393887' },
  light: { background: '#f6f7f9', foreground: '#1a1d26', cursor: '#4340ab', selectionBackground: '#c3c8ff' },
}

/** A shell in the session's jail, in the session's workspace. */
export default function TerminalTab({ info }: { info: SessionInfo }) {
  const place = useRef<HTMLDivElement>(null)
  const terminal = useRef<Terminal>(null)
  const scheme = useComputedColorScheme('dark')
  const open = useLink(({ link }) => link.state === 'open')
  const [ended, setEnded] = useState<{ code: number | null } | null>(null)
  const [problem, setProblem] = useState<unknown>(null)
  const [attempt, setAttempt] = useState(0)

  useEffect(() => {
    if (!open) return
    const screen = new Terminal({
      fontFamily: "'JetBrains Mono Variable', monospace",
      fontSize: 13,
      cursorBlink: false,
      // Programs choose their colours for dark or for light; both are read in both.
      minimumContrastRatio: 4.5,
      scrollback: 5000,
      screenReaderMode: true,
    })
    // The key that leads out of it: the shell gets all others.
    screen.attachCustomKeyEventHandler((event) => event.key !== 'F6')
    terminal.current = screen
    const fit = new FitAddon()
    screen.loadAddon(fit)
    screen.open(place.current!)
    fit.fit()
    const shell = new Shell(info.id, screen, (code) => {
      known.delete(info.id)
      setEnded({ code })
    })
    shell.begin().then(() => screen.focus(), setProblem)
    const watching = new ResizeObserver(() => fit.fit())
    watching.observe(place.current!)
    return () => {
      watching.disconnect()
      shell.leave()
      screen.dispose()
    }
  }, [info.id, attempt, open])

  useEffect(() => {
    if (terminal.current) terminal.current.options.theme = THEMES[scheme]
  }, [scheme, attempt, open])

  const again = () => {
    setEnded(null)
    setProblem(null)
    setAttempt((before) => before + 1)
  }
  if (problem) return <ErrorState problem={problem} retry={again} />
  return (
    <div className="terminal">
      <div ref={place} className="terminal-screen" />
      {ended && (
        <div className="terminal-ended" role="status">
          The shell has ended{ended.code ? ` with exit code ${ended.code}` : ''}.
          <Button size="compact-xs" onClick={again} autoFocus>
            New shell
          </Button>
        </div>
      )}
    </div>
  )
}

/** The line between a screen and a shell. */
class Shell {
  private id = ''
  private gone = false
  private typedEarly = ''
  private readonly undo: (() => void)[] = []

  constructor(
    private readonly session: string,
    private readonly screen: Terminal,
    private readonly ended: (code: number | null) => void,
  ) {}

  async begin(): Promise<void> {
    const typing = this.screen.onData((text) => this.type(text))
    this.undo.push(
      () => typing.dispose(),
      daemon.listenAtOnce((event) => {
        if (event.type === 'terminal.output' && event.terminal === this.id) this.screen.write(event.text)
        if (event.type === 'terminal.exited' && event.terminal === this.id) this.ended(event.exit_code ?? null)
      }),
    )
    const size = { columns: this.screen.cols, rows: this.screen.rows }
    const before = known.get(this.session)
    const opened = before
      ? await daemon
          .request('terminal.open', { session: this.session, terminal: before, ...size })
          .catch(() => daemon.request('terminal.open', { session: this.session, ...size }))
      : await daemon.request('terminal.open', { session: this.session, ...size })
    this.id = opened.terminal
    known.set(this.session, this.id)
    if (this.gone) return
    this.screen.write(opened.text ?? '')
    if (this.typedEarly) this.type(this.typedEarly)
    const resizing = this.screen.onResize(({ cols, rows }) => {
      // A shell that has just ended needs no size.
      daemon.request('terminal.resize', { terminal: this.id, columns: cols, rows }).catch(() => {})
    })
    this.undo.push(() => resizing.dispose())
  }

  private type(text: string): void {
    if (this.id) void daemon.request('terminal.input', { terminal: this.id, text }).catch(tellProblem)
    else this.typedEarly += text
  }

  leave(): void {
    this.gone = true
    for (const one of this.undo) one()
  }
}
