import { ActionIcon, Button } from '@mantine/core'
import { IconShieldCheck, IconTrash } from '@tabler/icons-react'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { act, useAsk } from '@/lib/ask'
import { useRenew } from '@/lib/live'
import { Ago } from '@/parts/Ago'
import { Confirm } from '@/parts/Confirm'
import { Chip, Row, Rows, Section } from '@/parts/Listing'
import { Page } from '@/parts/Page'
import { EmptyState, ErrorState, LoadingRows } from '@/parts/states'
import { Tip } from '@/parts/Tip'
import { Words } from '@/parts/Words'
import type { Grant } from '@/protocol/types'
import { useOverview } from '@/state/overview'

/** What agents may do without asking because a person said so. */
export default function GrantsPage() {
  const found = useAsk('grants.list', {})
  const grants = found.data?.grants ?? []
  const always = grants.filter((grant) => grant.scope === 'always')
  const sessions = grants.filter((grant) => grant.scope === 'session').reverse()
  return (
    <Page title="Grants">
      {found.data?.notices?.map((notice) => (
        <p key={notice} role="alert">
          {notice}
        </p>
      ))}
      {found.isPending ? (
        <LoadingRows count={3} height={52} />
      ) : found.error ? (
        <ErrorState problem={found.error} retry={() => void found.refetch()} />
      ) : grants.length === 0 ? (
        <EmptyState
          icon={<IconShieldCheck size={24} />}
          title="Nothing was granted"
          action={
            <Button variant="default" component={Link} to="/rules">
              See what the rules allow
            </Button>
          }
        >
          What you allow “for this session” or “always” when an agent asks stands here until you take it back.
        </EmptyState>
      ) : (
        <>
          <Listed
            title="Always"
            about="In one workspace, for every session. These are rules in your own policy.toml."
            grants={always}
          />
          <Listed
            title="For a session"
            about="Until the session is deleted, also after a restart, and for the sub-agents that work for it."
            grants={sessions}
          />
        </>
      )}
    </Page>
  )
}

function Listed({ title, about, grants }: { title: string; about: string; grants: Grant[] }) {
  if (grants.length === 0) return null
  return (
    <Section title={title} about={about}>
      <Rows label={title}>
        {grants.map((grant) => (
          <GrantRow key={grant.id} grant={grant} />
        ))}
      </Rows>
    </Section>
  )
}

function GrantRow({ grant }: { grant: Grant }) {
  const renew = useRenew('grants.list')
  const [revoking, setRevoking] = useState(false)
  const name = useOverview((state) => (grant.session ? state.cards[grant.session]?.info.name : undefined))
  return (
    <Row
      name={
        <span>
          <Words text={grant.covers} />
        </span>
      }
      chips={grant.by ? <Chip>{grant.by}</Chip> : null}
      about={
        <>
          <span className="mono">{grant.workspace || 'everywhere'}</span>
          {grant.session ? (
            <>
              {' · '}
              <Link to="/sessions/$id" params={{ id: grant.session }}>
                {name || grant.session.slice(0, 8)}
              </Link>
            </>
          ) : null}
        </>
      }
      figures={grant.at ? <Ago at={grant.at} /> : null}
      actions={
        <Tip label="Revoke">
          <ActionIcon
            variant="subtle"
            color="gray"
            aria-label={`Revoke ${grant.covers}`}
            onClick={() => setRevoking(true)}
          >
            <IconTrash size={16} />
          </ActionIcon>
        </Tip>
      }
    >
      <Confirm
        opened={revoking}
        close={() => setRevoking(false)}
        title="Revoke this grant?"
        action="Revoke"
        run={async () => {
          await act('grants.revoke', { grant: grant.id })
          await renew()
        }}
      >
        <Words text={grant.covers} /> Agents ask for it again from their next call on, in a running turn too.
      </Confirm>
    </Row>
  )
}
