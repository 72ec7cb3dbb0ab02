import { UnstyledButton } from '@mantine/core'
import { IconKeyboard } from '@tabler/icons-react'
import { Link } from '@tanstack/react-router'
import { pages } from '@/pages/pages'
import { Tip } from '@/parts/Tip'
import { useShortcuts } from './shortcuts'

export function Rail({ close }: { close: () => void }) {
  return (
    <>
      {pages.map(({ path, label, icon: Icon, key }) => (
        <Tip key={path} label={`${label} (g ${key})`} side="right">
          <Link
            to={path}
            className="rail-link"
            activeProps={{ className: 'rail-link rail-active' }}
            activeOptions={{ exact: true }}
            onClick={close}
          >
            <Icon size={20} stroke={1.6} />
            <span className="rail-label">{label}</span>
          </Link>
        </Tip>
      ))}
      <div className="rail-gap" />
      <Tip label="Keys (?)" side="right">
        <UnstyledButton className="rail-link" onClick={() => useShortcuts.setState({ helpOpen: true })}>
          <IconKeyboard size={20} stroke={1.6} />
          <span className="rail-label">Keys</span>
        </UnstyledButton>
      </Tip>
    </>
  )
}
