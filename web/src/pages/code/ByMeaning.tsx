import { Button } from '@mantine/core'
import { IconDownload } from '@tabler/icons-react'
import { useRenew } from '@/lib/live'
import { Problem, useSubmit } from '@/parts/Form'
import { HowFar, useIndexed } from '@/parts/HowFar'
import type { IndexInfo } from '@/protocol/types'
import { daemon } from '@/state/daemon'

/** Finding code by what it does takes a model of its own, which is fetched once for all folders. */
export function ByMeaning({ info, rebuild }: { info: IndexInfo; rebuild: () => void }) {
  const renew = useRenew('index.status', 'extras.list')
  const progress = useIndexed()
  const { submit, busy, problem } = useSubmit(async () => {
    await daemon.request('index.setup', {})
    await renew()
    if (info.built_at) rebuild()
  })
  const going = busy || Boolean(info.stage)
  return (
    <div className="code-meaning">
      <p>
        {info.model ? (
          <>
            <span className="good">Found by words and by meaning.</span>{' '}
            {info.built_at && (
              <span className="dim">
                {meant(info)} of {(info.chunks ?? 0).toLocaleString('en')} pieces are known by what they do.
              </span>
            )}
          </>
        ) : (
          <>
            Found by words.{' '}
            <span className="dim">A small model finds it by what it does: 21 MB, runs here, sends nothing.</span>
          </>
        )}
      </p>
      {!info.model && (
        <Button
          size="compact-sm"
          variant="default"
          leftSection={<IconDownload size={14} />}
          loading={going}
          onClick={() => submit()}
        >
          Set up search by meaning
        </Button>
      )}
      {going && (
        <div className="code-meaning-below">
          <HowFar
            stage={(busy && progress?.stage) || info.stage || 'beginning'}
            done={busy ? progress?.done : 0}
            total={busy ? progress?.total : 0}
          />
        </div>
      )}
      {!going && problem && (
        <div className="code-meaning-below">
          <Problem text={problem} />
        </div>
      )}
    </div>
  )
}

const meant = ({ embedded = 0 }: IndexInfo) => embedded.toLocaleString('en')
