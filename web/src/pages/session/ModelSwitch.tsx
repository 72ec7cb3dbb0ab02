import { Combobox, Loader, useCombobox } from '@mantine/core'
import { useMemo, useState } from 'react'
import { act, useAsk } from '@/lib/ask'
import { answering, modelName, tokens } from '@/lib/format'
import { Choice } from '@/parts/Choice'
import { useOpenAtOnce } from '@/parts/Demand'
import type { AuthEntry, ModelEntry, SessionInfo } from '@/protocol/types'
import { ModelTrigger } from './triggers'

const EFFORTS = ['default', 'off', 'low', 'medium', 'high'] as const

/** Provider (and with it key or login), model, and how much it thinks, for the next message. */
export default function ModelSwitch({ info }: { info: SessionInfo }) {
  const [query, setQuery] = useState('')
  const { opened, setOpened, button } = useOpenAtOnce()
  const combobox = useCombobox({ opened, onOpenedChange: setOpened, onDropdownClose: () => setQuery('') })
  const models = useAsk(
    'models.list',
    { cwd: info.cwd },
    { enabled: combobox.dropdownOpened, staleTime: 300_000, placeholderData: (before) => before },
  )
  const auth = useAsk('auth.list', { cwd: info.cwd }, { enabled: combobox.dropdownOpened })
  const current = answering(info)
  const groups = useMemo(() => byProvider(models.data?.models ?? [], query), [models.data, query])
  const choose = (model: string) => {
    combobox.closeDropdown()
    if (model !== info.settings?.model) void act('session.update', { session: info.id, settings: { model } })
  }
  const exact = query.includes('/') && !models.data?.models.some(({ name }) => name === query)
  const any = exact || groups.length > 0
  return (
    <Combobox store={combobox} onOptionSubmit={choose} width={360} position="bottom-start" withinPortal>
      <Combobox.Target targetType="button">
        <ModelTrigger ref={button} info={info} onClick={() => combobox.toggleDropdown()} />
      </Combobox.Target>
      <Combobox.Dropdown className="model-list">
        <Combobox.Search
          ref={focusSoon}
          value={query}
          onChange={(event) => {
            setQuery(event.currentTarget.value)
            combobox.updateSelectedOptionIndex()
          }}
          placeholder="Search, or type provider/model"
          aria-label="Search models"
          role="combobox"
          aria-expanded={any}
        />
        {models.isLoading && (
          <div className="model-said">
            <Loader size="xs" /> Asking the providers …
          </div>
        )}
        <Combobox.Options mah={320} style={{ overflowY: 'auto' }} aria-label="Models" hidden={!any}>
          {exact && <Combobox.Option value={query}>Use {query}</Combobox.Option>}
          {groups.map(([provider, entries]) => (
            <Combobox.Group key={provider} label={provider + authWords(auth.data?.entries, provider)}>
              {entries.map((entry) => (
                <Combobox.Option key={entry.name} value={entry.name} active={entry.name === current}>
                  <span className="model-option">
                    <span className="cut">{modelName(entry.name)}</span>
                    <span className="dim mono">{figures(entry)}</span>
                  </span>
                </Combobox.Option>
              ))}
            </Combobox.Group>
          ))}
        </Combobox.Options>
        {models.data && !any && <div className="model-said">No model is called that.</div>}
        {models.data?.problems?.map(({ provider, error }) => (
          <div key={provider} className="model-said">
            {provider}: {error.message}
          </div>
        ))}
        <Combobox.Footer>
          <div className="effort">
            <span className="dim" aria-hidden>
              Thinking
            </span>
            <Choice
              label="Thinking"
              choices={EFFORTS}
              value={info.settings?.thinking ?? 'default'}
              choose={(value) =>
                void act('session.update', {
                  session: info.id,
                  settings: { thinking: value === 'default' ? null : value },
                })
              }
            />
          </div>
        </Combobox.Footer>
      </Combobox.Dropdown>
    </Combobox>
  )
}

/** However it was opened: what is typed is meant for the search. A dropdown is put in its place after it is made. */
function focusSoon(search: HTMLInputElement | null): void {
  if (search) setTimeout(() => search.focus({ preventScroll: true }))
}

function byProvider(models: ModelEntry[], query: string): [string, ModelEntry[]][] {
  const wanted = query.toLowerCase()
  const groups = new Map<string, ModelEntry[]>()
  for (const entry of models) {
    if (wanted && !entry.name.toLowerCase().includes(wanted)) continue
    const provider = entry.name.slice(0, entry.name.indexOf('/'))
    groups.set(provider, [...(groups.get(provider) ?? []), entry])
  }
  return [...groups]
}

/** How this provider is paid: a provider of the same kind with the other way stands beside it under its own name. */
function authWords(entries: AuthEntry[] | undefined, provider: string): string {
  const entry = entries?.find(({ name }) => name === provider)
  if (!entry) return ''
  return entry.kind === 'oauth' ? ' · login' : ` · key from ${entry.source ?? 'vault'}`
}

function figures(entry: ModelEntry): string {
  const window = entry.context_window ? tokens(entry.context_window) : ''
  const price = entry.input_usd ? `$${entry.input_usd}/${entry.output_usd ?? '?'}` : ''
  return [window, price].filter(Boolean).join(' · ')
}
