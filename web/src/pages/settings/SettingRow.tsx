import { ActionIcon } from '@mantine/core'
import { IconArrowBackUp } from '@tabler/icons-react'
import { memo, useState } from 'react'
import { Refusal } from '@/connection/connection'
import { messageOf } from '@/lib/ask'
import { folderName } from '@/lib/format'
import { useRenew } from '@/lib/live'
import { Chip } from '@/parts/Listing'
import { Tip } from '@/parts/Tip'
import { WithCode } from '@/parts/WithCode'
import { daemon } from '@/state/daemon'
import { Control } from './Control'
import { defaultWords, dotted, type Entry, parts, written } from './groups'

/** A setting: what it is for, what it is and where that comes from, and a field to change it. */
export const SettingRow = memo(function SettingRow({ entry, fixed }: { entry: Entry; fixed: boolean }) {
  const renew = useRenew('config.show', 'setup.show', 'daemon.status', 'models.list', 'tools.list')
  const [busy, setBusy] = useState(false)
  const [problem, setProblem] = useState('')
  const [saved, setSaved] = useState(false)
  const write = async (key: string, value: string | null) => {
    setBusy(true)
    setProblem('')
    setSaved(false)
    try {
      await daemon.request('config.set', { key, value })
      await renew()
      setSaved(true)
    } catch (refused) {
      setProblem(refused instanceof Refusal ? refused.info.message : messageOf(refused))
    }
    setBusy(false)
  }
  const { info, source } = entry
  const variable = source.startsWith('$')
  const usual = defaultWords(info)
  return (
    <li className="setting">
      <div className="setting-words">
        <h4 className="mono">{info.name}</h4>
        <p>
          <WithCode text={info.about} />
        </p>
        <p className="setting-wanted">
          {info.wanted}
          {usual && (
            <>
              {' '}
              · default <span className="mono">{usual}</span>
            </>
          )}
        </p>
      </div>
      <div className="setting-value">
        <Control
          entry={entry}
          busy={busy}
          disabled={fixed || variable}
          save={(value) => void write(entry.key, value === null ? null : written(value))}
          savePart={(name, value) =>
            void write(dotted([...parts(entry.key), name]), value === null ? null : written(value))
          }
        />
        {problem && (
          <p className="form-problem" role="alert">
            {problem}
          </p>
        )}
        <p className="setting-source">
          {saved && (
            <span className="good" role="status">
              Saved{info.at_start ? '; it counts from the daemon’s next start' : ''} ·{' '}
            </span>
          )}
          {source === 'default' ? (
            'default'
          ) : (
            <Chip tone="accent" title={source}>
              {variable ? `set by ${source}` : folderName(source)}
            </Chip>
          )}
          {info.at_start && !saved && <span>· counts from the daemon’s next start</span>}
          {source !== 'default' && !variable && !fixed && !info.required && info.kind !== 'table' && (
            <Tip label={usual ? `Back to ${usual}` : 'Back to the default'}>
              <ActionIcon
                size="sm"
                variant="subtle"
                color="gray"
                aria-label={`Take ${entry.key} out of the file`}
                disabled={busy}
                onClick={() => void write(entry.key, null)}
              >
                <IconArrowBackUp size={14} />
              </ActionIcon>
            </Tip>
          )}
        </p>
      </div>
    </li>
  )
})
