import { Tooltip, UnstyledButton } from '@mantine/core'
import { IconKeyboard } from '@tabler/icons-react'
import { Link } from '@tanstack/react-router'
import { pages } from '@/pages/pages'
import { useShortcuts } from './shortcuts'

export function Rail({ close }: { close: () => void }) {
  return (
    <>
      {pages.map(({ path, label, icon: Icon, key }) => (
        <Tooltip key={path} label={`${label} (g ${key})`} position="right">
          <Link
            to={path}
            className="rail-link"
            activeProps={{ className: 'rail-link rail-active' }}
            activeOptions={{ exact: path === '/' }}
            onClick={close}
          >
            <Icon size={20} stroke={1.6} />
            <span className="rail-label">{label}</span>
          </Link>
        </Tooltip>
      ))}
      <div className="rail-gap" />
      <Tooltip label="Keys (?)" position="right">
        <UnstyledButton className="rail-link" onClick={() => useShortcuts.setState({ helpOpen: true })}>
          <IconKeyboard size={20} stroke={1.6} />
          <span className="rail-label">Keys</span>
        </UnstyledButton>
      </Tooltip>
    </>
  )
}
