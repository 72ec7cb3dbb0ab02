import './choice.css'

interface Props<T extends string> {
  label: string
  value: T
  choose: (value: T) => void
  /** As wide as the form it stands in. */
  wide?: boolean
  choices: readonly (T | { value: T; label: string })[]
}

/** One of a few, all in sight. */
export function Choice<T extends string>({ label, value, choose, choices, wide = false }: Props<T>) {
  return (
    <fieldset className={wide ? 'choice choice-wide' : 'choice'}>
      <legend className="visually-hidden">{label}</legend>
      {choices.map((choice) => {
        const one = typeof choice === 'string' ? { value: choice, label: choice } : choice
        return (
          <label key={one.value}>
            <input type="radio" name={label} checked={one.value === value} onChange={() => choose(one.value)} />
            <span>{one.label}</span>
          </label>
        )
      })}
    </fieldset>
  )
}
