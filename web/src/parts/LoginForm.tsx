import { PasswordInput, Select, Switch, TextInput } from '@mantine/core'
import { useState } from 'react'
import { useAsk } from '@/lib/ask'
import type { AuthLogin, LoginClient } from '@/protocol/types'
import { Form } from './Form'

const OWN = 'own'

export type WantedLogin = Pick<AuthLogin, 'provider' | 'device' | 'client'>

/** As whom and where to log in, for a provider whose login is not configured. It is written down once it went well. */
export function LoginForm({ begin, leave }: { begin: (login: WantedLogin) => void; leave: () => void }) {
  const templates = useAsk('auth.list', {}).data?.templates ?? []
  const [whose, setWhose] = useState('')
  const [client, setClient] = useState<LoginClient>({ client_id: '' })
  const [name, setName] = useState('')
  const [device, setDevice] = useState(false)
  const template = templates.find((each) => each.name === whose)
  const change = (fields: Partial<LoginClient>) => setClient({ ...client, ...fields })
  const provider = template?.provider ?? name.trim()
  const ready =
    client.client_id.trim() !== '' && provider !== '' && (template !== undefined || Boolean(client.issuer?.trim()))
  const work = async () => begin({ provider, device, client: { ...client, template: template?.name ?? '' } })
  return (
    <Form work={work} action="Go on" ready={ready} leave={leave}>
      <Select
        label="Whose account"
        data={[
          ...templates.map(({ name: value, title: label }) => ({ value, label })),
          { value: OWN, label: 'A login server of your own (OpenID Connect)' },
        ]}
        value={whose || null}
        onChange={(value) => setWhose(value ?? '')}
        allowDeselect={false}
        required
        data-autofocus
      />
      {whose === OWN && (
        <>
          <TextInput
            label="Login server"
            description="Its .well-known/openid-configuration says the rest."
            placeholder="https://login.example.com"
            value={client.issuer ?? ''}
            onChange={(event) => change({ issuer: event.currentTarget.value })}
            classNames={{ input: 'mono' }}
            required
          />
          <TextInput
            label="Provider"
            description="One that is configured, or the name of a new one."
            placeholder="office"
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
            classNames={{ input: 'mono' }}
            required
          />
          <TextInput
            label="Where its models answer"
            description="Only for a new one."
            placeholder="https://models.example.com/v1"
            value={client.base_url ?? ''}
            onChange={(event) => change({ base_url: event.currentTarget.value })}
            classNames={{ input: 'mono' }}
          />
        </>
      )}
      <TextInput
        label="Client id"
        description={
          template ? (
            <>
              Of a client that you register at <span className="mono">{template.register}</span>
            </>
          ) : (
            'Of the client that was registered there for you.'
          )
        }
        value={client.client_id}
        onChange={(event) => change({ client_id: event.currentTarget.value })}
        classNames={{ input: 'mono' }}
        autoComplete="off"
        required
      />
      <PasswordInput
        label="Client secret"
        description="Only where the client has one. It is kept in the vault."
        value={client.client_secret ?? ''}
        onChange={(event) => change({ client_secret: event.currentTarget.value })}
        autoComplete="off"
        classNames={{ innerInput: 'mono' }}
        visibilityToggleButtonProps={{ 'aria-label': 'Show or hide the secret' }}
      />
      <TextInput
        label="Redirect address"
        description="As registered, such as http://localhost:8976/done. Empty: any port of the daemon’s machine."
        value={client.redirect_uri ?? ''}
        onChange={(event) => change({ redirect_uri: event.currentTarget.value })}
        classNames={{ input: 'mono' }}
      />
      <Switch
        label="By a code, which is typed on any device"
        checked={device}
        onChange={(event) => setDevice(event.currentTarget.checked)}
      />
    </Form>
  )
}
