import { Button } from '@mantine/core'
import { IconRefresh } from '@tabler/icons-react'
import { useAsk } from '@/lib/ask'
import { Chip, Notices, Section } from '@/parts/Listing'
import { Page } from '@/parts/Page'
import { ProjectChoice, useProject } from '@/parts/Project'
import { ErrorState, LoadingRows } from '@/parts/states'
import type { PolicyTested, RuleExample } from '@/protocol/types'
import './rules.css'
import { TryCall } from './TryCall'

/** What the rules say: about one call that a person makes up, and about the examples they come with. */
export default function Rules() {
  const chosen = useProject()
  const status = useAsk('daemon.status', {})
  // Where nobody has worked yet, the rules that hold everywhere are tried in the daemon's own folder.
  const cwd = chosen || status.data?.home || ''
  return (
    <Page title="Rules" actions={<ProjectChoice />}>
      <p className="page-lead dim">
        Rules decide which calls of an agent run, which are asked about and which are refused. Your own stand in{' '}
        <code>policy.toml</code> beside your settings, a project’s in <code>.openagent/policy.toml</code>; the strictest
        that meets a call counts.
      </p>
      {cwd ? (
        <>
          <TryCall cwd={cwd} />
          <Examples cwd={cwd} />
        </>
      ) : (
        <LoadingRows count={2} height={120} />
      )}
    </Page>
  )
}

function Examples({ cwd }: { cwd: string }) {
  const tested = useAsk('policy.test', { cwd }, { staleTime: Number.POSITIVE_INFINITY })
  return (
    <Section
      title="Do the rules keep their word?"
      about="Every rule, built in or yours, brings examples of what it meets and what it does not."
      actions={
        <Button
          size="xs"
          variant="default"
          leftSection={<IconRefresh size={14} />}
          loading={tested.isFetching}
          onClick={() => void tested.refetch()}
        >
          Check again
        </Button>
      }
    >
      {tested.isPending ? (
        <LoadingRows count={1} height={72} />
      ) : tested.error ? (
        <ErrorState problem={tested.error} retry={() => void tested.refetch()} />
      ) : (
        <Tested tested={tested.data} />
      )}
    </Section>
  )
}

function Tested({ tested: { checked, failures = [], files = [], notices = [] } }: { tested: PolicyTested }) {
  return (
    <>
      <Notices notices={notices} />
      <div className="panel rules-tested">
        <p role="status">
          {failures.length === 0 ? <Chip tone="good">all as they should be</Chip> : <Chip tone="bad">not all</Chip>}
          <span>
            <span className="mono">{checked.toLocaleString('en')}</span> examples checked
            {failures.length > 0 && (
              <>
                , <span className="mono">{failures.length}</span> turned out otherwise
              </>
            )}
            .
          </span>
        </p>
        {failures.length > 0 && (
          <ul className="rules-failures" aria-label="Examples that turned out otherwise">
            {failures.map((one) => (
              <Failure key={`${one.rule} ${one.command}`} one={one} />
            ))}
          </ul>
        )}
        <p className="dim rules-files">
          {files.length === 0 ? (
            'Only the built-in rules count here: there is no file of rules.'
          ) : (
            <>
              Besides the built-in rules, these count:{' '}
              {files.map((file, at) => (
                <span key={file}>
                  {at > 0 && ', '}
                  <span className="mono">{file}</span>
                </span>
              ))}
            </>
          )}
        </p>
      </div>
    </>
  )
}

function Failure({ one }: { one: RuleExample }) {
  return (
    <li>
      <span className="mono">{one.rule}</span> {one.expected ? 'should meet' : 'should not meet'}{' '}
      <code>{one.command}</code>
    </li>
  )
}
