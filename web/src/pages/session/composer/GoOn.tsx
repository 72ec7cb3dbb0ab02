import { Link } from '@tanstack/react-router'
import { folderName } from '@/lib/format'
import { useNoModel } from '@/parts/first-run'
import type { SessionInfo } from '@/protocol/types'
import { ModelSwitch } from '../triggers'

/** Above the line of a session that another agent had: with what it goes on, and where. */
export default function GoOn({ info }: { info: SessionInfo }) {
  const none = useNoModel() && !info.settings?.model
  return (
    <div className="go-on">
      <span className="dim">Brought from {info.origin?.title}.</span>
      {none ? (
        <Link to="/welcome">Choose what should answer, and go on here</Link>
      ) : (
        <>
          <span>Go on here with</span>
          <ModelSwitch info={info} />
          <span className="dim cut" title={info.cwd}>
            in {folderName(info.cwd)}
          </span>
        </>
      )}
    </div>
  )
}
