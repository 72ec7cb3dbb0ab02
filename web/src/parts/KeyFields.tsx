import { PasswordInput, Select } from '@mantine/core'
import type { KeyLook } from '@/protocol/types'
import { vendors, whose } from './keys'

/** A key, and whose it is: told by its beginning, asked where that is not known. */
export function KeyFields(props: {
  looks: KeyLook[]
  value: string
  change: (key: string) => void
  provider: string
  setProvider: (provider: string) => void
  label?: string
}) {
  const known = whose(props.looks, props.value)
  const unknown = props.value.trim() !== '' && !known
  return (
    <>
      <PasswordInput
        label={props.label ?? 'API key'}
        description={known ? `A key of ${known.title}.` : 'It is tried first, then kept encrypted.'}
        placeholder="sk-ant-…  sk-…  AIza…  sk-or-…"
        value={props.value}
        onChange={(event) => props.change(event.currentTarget.value)}
        autoComplete="off"
        spellCheck={false}
        classNames={{ innerInput: 'mono' }}
        visibilityToggleButtonProps={{ 'aria-label': 'Show or hide the key' }}
      />
      {unknown && (
        <Select
          label="Whose key is it?"
          description="Its beginning is not one that is known."
          data={vendors(props.looks)}
          value={props.provider || null}
          onChange={(value) => props.setProvider(value ?? '')}
          searchable
        />
      )}
    </>
  )
}
