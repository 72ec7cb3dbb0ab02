import { Dialog } from '@/parts/Dialog'
import { type Shortcut, shown, useShortcuts } from './shortcuts'

export default function ShortcutHelp() {
  const known = useShortcuts((state) => state.known)
  const groups = grouped(known)
  return (
    <Dialog onClose={() => useShortcuts.setState({ helpOpen: false })} title="Keys" size="lg" centered>
      <div className="help">
        {[...groups].map(([where, bindings]) => (
          <section key={where}>
            <h2>{where}</h2>
            <dl>
              {bindings.map(({ keys, what }) => (
                <div key={keys} className="help-row">
                  <dt>{what}</dt>
                  <dd>
                    {keys.split(' ').map((key) => (
                      <kbd key={key}>{shown(key)}</kbd>
                    ))}
                  </dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
    </Dialog>
  )
}

function grouped(known: Shortcut[]): Map<string, Shortcut[]> {
  const groups = new Map<string, Shortcut[]>()
  for (const one of known) groups.set(one.where, [...(groups.get(one.where) ?? []), one])
  return groups
}
