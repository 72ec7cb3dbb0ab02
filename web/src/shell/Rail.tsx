import { UnstyledButton } from '@mantine/core'
import { IconChevronsLeft, IconChevronsRight, IconKeyboard } from '@tabler/icons-react'
import { Link, useLocation } from '@tanstack/react-router'
import { railEntries } from '@/pages/pages'
import { usePages } from '@/pages/shown'
import { Tip } from '@/parts/Tip'
import { toggleRail, useRail } from './rail-state'
import { useShortcuts } from './shortcuts'

/** Where to go. Its names are shown where there is room for them, until somebody folds it. */
export function Rail({ close }: { close: () => void }) {
  const folded = useRail((state) => state.folded)
  const { pathname } = useLocation()
  const entries = railEntries(usePages())
  return (
    <>
      {entries.map(({ label, icon: Icon, pages }) => {
        const here = pages.some(({ path }) => path === pathname)
        return (
          <Tip key={label} label={`${label} (g ${pages[0].key})`} side="right">
            <Link
              to={pages[0].path}
              className={here ? 'rail-link rail-active' : 'rail-link'}
              aria-current={here ? 'page' : undefined}
              onClick={close}
            >
              <Icon size={18} stroke={1.6} />
              <span className="rail-label">{label}</span>
            </Link>
          </Tip>
        )
      })}
      <div className="rail-gap" />
      <Tip label="Shortcuts (?)" side="right">
        <UnstyledButton className="rail-link" onClick={() => useShortcuts.setState({ helpOpen: true })}>
          <IconKeyboard size={18} stroke={1.6} />
          <span className="rail-label">Shortcuts</span>
        </UnstyledButton>
      </Tip>
      <Tip label="Show the names ([)" side="right">
        <UnstyledButton className="rail-link rail-fold" aria-expanded={!folded} onClick={toggleRail}>
          {folded ? <IconChevronsRight size={18} stroke={1.6} /> : <IconChevronsLeft size={18} stroke={1.6} />}
          <span className="rail-label">{folded ? 'Show the names' : 'Fold'}</span>
        </UnstyledButton>
      </Tip>
    </>
  )
}
