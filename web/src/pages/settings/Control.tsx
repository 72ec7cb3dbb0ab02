import { Button, NumberInput, Select, Switch, TagsInput, TextInput } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { defaultWords, type Entry } from './groups'
import { Pairs } from './Pairs'

export interface ControlProps {
  entry: Entry
  busy: boolean
  disabled: boolean
  /** Null: taken out. */
  save: (value: unknown) => void
  savePart: (name: string, value: string | null) => void
}

const KEYS: string = '/auth'

/** The field that fits a setting. What is one of a few counts at once; what is typed, when it is saved. */
export function Control(props: ControlProps) {
  const { entry, disabled, save } = props
  const { info, value } = entry
  const label = `Value of ${entry.key}`
  if (info.secret)
    return (
      <p className="setting-fixed">
        {value ? <span className="mono">{String(value)}</span> : 'not in the file'} · kept under{' '}
        <Link to={KEYS}>Keys and logins</Link>
      </p>
    )
  switch (info.kind) {
    case 'switch':
      return (
        <Switch
          aria-label={label}
          checked={value === true}
          disabled={disabled || props.busy}
          onChange={(event) => save(event.currentTarget.checked)}
        />
      )
    case 'choice':
      return <ChoiceControl {...props} />
    case 'table':
      return <Pairs {...props} />
    case 'other':
      return <p className="setting-fixed">{JSON.stringify(value)} · to be edited in the file</p>
    default:
      return <Typed {...props} key={JSON.stringify(value)} />
  }
}

const LISTED = 'these …'

function ChoiceControl({ entry, busy, disabled, save }: ControlProps) {
  const { info, value } = entry
  const isList = Array.isArray(value)
  const [listing, setListing] = useState(isList)
  useEffect(() => setListing(isList), [isList])
  return (
    <>
      <Select
        size="xs"
        aria-label={`Value of ${entry.key}`}
        data={[...(info.choices ?? []), ...(info.lists ? [LISTED] : [])]}
        value={listing ? LISTED : value === null ? null : String(value)}
        placeholder="not set"
        disabled={disabled || busy}
        allowDeselect={false}
        onChange={(chosen) => {
          setListing(chosen === LISTED)
          if (chosen && chosen !== LISTED) save(chosen)
        }}
      />
      {listing && (
        <Typed entry={{ ...entry, value: isList ? value : [] }} busy={busy} disabled={disabled} save={save} list />
      )}
    </>
  )
}

function Typed(props: Omit<ControlProps, 'savePart'> & { list?: boolean }) {
  const { entry, busy, disabled, save } = props
  const { info } = entry
  const [typed, setTyped] = useState<unknown>(entry.value)
  const dirty = JSON.stringify(typed) !== JSON.stringify(entry.value)
  const label = `Value of ${entry.key}`
  const shared = { size: 'xs' as const, 'aria-label': label, disabled, classNames: { input: 'mono' } }
  const usual = defaultWords(info)
  const empty = typed === '' || typed === null
  return (
    <form
      className="setting-typed"
      onSubmit={(event) => {
        event.preventDefault()
        if (dirty) save(empty ? null : typed)
      }}
    >
      {props.list || info.kind === 'list' ? (
        <TagsInput {...shared} value={(typed as string[] | null) ?? []} onChange={setTyped} placeholder="add one" />
      ) : info.kind === 'text' ? (
        <TextInput
          {...shared}
          value={String(typed ?? '')}
          placeholder={usual || 'not set'}
          onChange={(event) => setTyped(event.currentTarget.value)}
        />
      ) : (
        <NumberInput
          {...shared}
          value={(typed as number | null) ?? ''}
          placeholder={usual || 'not set'}
          allowDecimal={info.kind === 'number'}
          onChange={setTyped}
          hideControls
        />
      )}
      {dirty && (
        <>
          <Button size="compact-sm" type="submit" loading={busy}>
            Save<span className="visually-hidden"> {entry.key}</span>
          </Button>
          <Button size="compact-sm" variant="subtle" color="gray" onClick={() => setTyped(entry.value)}>
            Cancel
          </Button>
        </>
      )}
    </form>
  )
}
