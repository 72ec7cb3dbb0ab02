import { expect, test } from 'vitest'
import { ownProviders } from './own-providers'

test('each provider of the configuration is told once, with its address', () => {
  const from = (key: string, value: string, source = '/c.toml:3') => ({ key, value, source })
  expect(
    ownProviders([
      from('model', 'office/one'),
      from('providers.office.kind', 'compatible'),
      from('providers.office.base_url', 'http://127.0.0.1:1/v1'),
      from('providers.anthropic.kind', 'anthropic', 'default'),
      from('providers.anthropic.base_url', 'http://127.0.0.1:2', '/c.toml:9'),
    ]),
  ).toEqual([
    { name: 'anthropic', kind: 'anthropic', url: 'http://127.0.0.1:2', source: '/c.toml:9' },
    { name: 'office', kind: 'compatible', url: 'http://127.0.0.1:1/v1', source: '/c.toml:3' },
  ])
})
