import { Button } from '@mantine/core'
import { IconDownload } from '@tabler/icons-react'
import { useAsk } from '@/lib/ask'
import { bytes } from '@/lib/format'
import { useRenew } from '@/lib/live'
import { tell } from '@/lib/tell'
import { Problem, useSubmit } from '@/parts/Form'
import { HowFar, usePulled } from '@/parts/HowFar'
import { Chip, Row, Rows, type Tone } from '@/parts/Listing'
import { Page } from '@/parts/Page'
import { ErrorState, LoadingRows } from '@/parts/states'
import type { ExtraInfo } from '@/protocol/types'
import { daemon } from '@/state/daemon'
import './extras.css'

const HERE: Record<ExtraInfo['state'], [string, Tone]> = {
  installed: ['came along', 'good'],
  fetched: ['fetched', 'good'],
  absent: ['not here', 'plain'],
}

/** How often somebody who came while something was being fetched looks again, in milliseconds. */
const LOOK_AGAIN = 1000

/** What not everybody needs and is large. */
export default function Extras() {
  const extras = useAsk(
    'extras.list',
    {},
    { refetchInterval: ({ state }) => state.data?.extras.some(({ stage }) => stage) && LOOK_AGAIN },
  )
  return (
    <Page title="Extras">
      <p className="page-lead dim">
        Large libraries that OpenAgent works without. Each is fetched once, when you say so or when it is first needed,
        checked against the version and the hash that OpenAgent names, and kept in its own data.
      </p>
      {extras.isPending ? (
        <LoadingRows count={5} height={64} />
      ) : extras.error ? (
        <ErrorState problem={extras.error} retry={() => void extras.refetch()} />
      ) : (
        <Rows label="Extras">
          {extras.data.extras.map((extra) => (
            <Extra key={extra.name} extra={extra} />
          ))}
        </Rows>
      )}
    </Page>
  )
}

function Extra({ extra }: { extra: ExtraInfo }) {
  const { name, state, stage } = extra
  const renew = useRenew('extras.list')
  const { submit, busy, problem } = useSubmit(async () => {
    const got = await daemon.request('extras.fetch', { name })
    await renew()
    tell({ tone: 'plain', title: `${name} is here`, text: `It can ${got.purpose} from now on.` })
  })
  const progress = usePulled(name)
  const [word, tone] = HERE[state]
  const going = busy || Boolean(stage)
  return (
    <Row
      name={<span className="extra-purpose">{extra.purpose}</span>}
      chips={
        <>
          <Chip tone={going ? 'accent' : tone}>{going ? 'on its way' : word}</Chip>
          <span className="mono dim extra-name">{name}</span>
        </>
      }
      about={state === 'absent' ? `Without it, ${extra.without}.` : null}
      figures={<span className="mono">{sizeOf(extra)}</span>}
      actions={
        state === 'absent' && (
          <Button
            size="compact-sm"
            variant="default"
            leftSection={<IconDownload size={14} />}
            loading={going}
            onClick={() => submit()}
          >
            Fetch<span className="visually-hidden"> {name}</span>
          </Button>
        )
      }
    >
      {going && (
        <div className="extra-below">
          {busy && progress ? (
            <HowFar
              stage={progress.stage}
              done={progress.done_bytes}
              total={progress.total_bytes}
              measure={`${bytes(progress.done_bytes ?? 0)} of ${bytes(progress.total_bytes ?? 0)}`}
            />
          ) : (
            <HowFar stage={stage || 'beginning'} />
          )}
        </div>
      )}
      {!going && problem && (
        <div className="extra-below">
          <Problem text={problem} />
        </div>
      )}
    </Row>
  )
}

function sizeOf({ state, size_bytes: size, download_mb: download }: ExtraInfo): string {
  if (state === 'fetched') return `${bytes(size)} on the disk`
  return state === 'absent' ? `about ${download} MB` : ''
}
