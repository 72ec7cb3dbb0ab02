import { useAsk } from '@/lib/ask'
import { bytes, cost, leftOut } from '@/lib/format'
import { Spark } from '@/parts/Spark'
import { useByTurn } from '@/state/attention'
import { useOverview } from '@/state/overview'

/** The daemon's own pulse, on one line. Each figure has its place before it is known. */
export function SystemPanel() {
  const metrics = useOverview((state) => state.metrics)
  const cpu = useOverview((state) => state.cpu)
  const byTurn = useByTurn()
  const mcp = useOverview((state) => state.mcp)
  const status = useAsk('daemon.status', {})
  // The daemon's figure, as the command line tells it.
  const { data: week } = useAsk('metrics.cost', { days: 7 }, { staleTime: 60_000 })
  const servers = Object.values(mcp).filter((server) => server.status !== 'disabled')
  const up = servers.filter((server) => server.status === 'up').length
  const rss = metrics?.rss_bytes ?? status.data?.rss_bytes
  return (
    <section className="system panel" aria-label="System">
      <Figure
        label="CPU"
        room={5}
        value={metrics ? `${Math.round(metrics.system_cpu_percent ?? 0)} %` : '–'}
        title={
          metrics ? `The whole machine; the daemon itself ${Math.round(metrics.cpu_percent)} % of one processor` : ''
        }
      >
        <Spark values={cpu} held />
      </Figure>
      <Figure
        label="Memory"
        room={18}
        value={
          metrics?.system_memory_total_bytes
            ? `${bytes(metrics.system_memory_bytes ?? 0)} of ${bytes(metrics.system_memory_total_bytes)}`
            : '–'
        }
        title="The whole machine"
      />
      <Figure label="Daemon" room={6} value={rss ? bytes(rss) : '–'} title="Memory of the daemon itself" />
      <Figure
        label="Sessions"
        room={24}
        value={`${byTurn.running.length} running, ${byTurn.needsYou.length} ${byTurn.needsYou.length === 1 ? 'needs' : 'need'} you`}
      />
      <Figure label="Jail" room={24} value={status.data?.jail ?? '–'} />
      <Figure
        label="7 days"
        room={6}
        value={week ? cost(week.week_usd, week.unpriced_week ?? 0) : '–'}
        title={week ? leftOut(week.unpriced_week ?? 0) : ''}
      >
        <Spark values={(week?.by_day ?? []).map((row) => row.cost_usd)} held />
      </Figure>
      {servers.length > 0 && <Figure label="MCP" value={`${up}/${servers.length} up`} />}
    </section>
  )
}

/** `room`: for so many characters, so that a figure that comes or grows moves none of the others. */
function Figure(props: { label: string; value: string; room?: number; title?: string; children?: React.ReactNode }) {
  return (
    <div className="system-figure" title={props.title}>
      <span className="dim">{props.label}</span>
      <span className="mono" style={{ minWidth: props.room && `${props.room}ch` }}>
        {props.value}
      </span>
      {props.children}
    </div>
  )
}
