import { expect, test } from 'vitest'
import type { SettingInfo, SettingTable } from '@/protocol/types'
import { dotted, firstOf, grouped, lengthOf, matching, parts } from './groups'

const info = (name: string, more: Partial<SettingInfo> = {}): SettingInfo => ({
  name,
  about: `About ${name}.`,
  wanted: 'text',
  kind: 'text',
  ...more,
})
const TABLES: SettingTable[] = [
  { name: '', about: '', settings: [info('model')] },
  {
    name: 'providers.NAME',
    about: 'One provider.',
    names: 'NAME',
    settings: [info('kind'), info('timeout', { default: 300 })],
  },
  { name: 'providers.NAME.oauth', about: 'Logging in.', names: 'NAME', settings: [info('client_id')] },
  { name: 'jail', about: 'Where.', settings: [info('names', { kind: 'table' })] },
  { name: 'auto.rules', about: 'Rules.', listed: true, settings: [info('use')] },
]
const VALUES = [
  { key: 'model', value: 'my/one', source: '/c.toml:1' },
  { key: 'providers."my.own".kind', value: 'compatible', source: '/c.toml:3' },
  { key: 'jail.names."db.local"', value: '10.0.0.1', source: '/c.toml:9' },
]

test('a key is read part by part, quotes and all', () => {
  expect(parts('prices."openai/gpt-5".input')).toEqual(['prices', 'openai/gpt-5', 'input'])
  expect(dotted(['prices', 'openai/gpt-5', 'input'])).toBe('prices."openai/gpt-5".input')
})

test('each setting stands in its group with its value, its default and its place', () => {
  const groups = grouped(TABLES, VALUES)
  const entries = groups.flatMap(({ blocks }) => blocks.flatMap((block) => block.entries))
  expect(entries.map(({ key, value, source }) => [key, value, source])).toEqual([
    ['model', 'my/one', '/c.toml:1'],
    ['providers."my.own".kind', 'compatible', '/c.toml:3'],
    ['providers."my.own".timeout', 300, 'default'],
    ['providers."my.own".oauth.client_id', null, 'default'],
    ['jail.names', { 'db.local': '10.0.0.1' }, '/c.toml:9'],
  ])
})

test('a search looks into explanations and values, and can leave the defaults out', () => {
  const keys = (query: string, changed: boolean) =>
    matching(grouped(TABLES, VALUES), query, changed).flatMap(({ blocks }) =>
      blocks.flatMap(({ entries }) => entries.map(({ key }) => key)),
    )
  expect(keys('about timeout', false)).toEqual(['providers."my.own".timeout'])
  expect(keys('10.0.0.1', false)).toEqual(['jail.names'])
  expect(keys('', true)).toEqual(['model', 'providers."my.own".kind', 'jail.names'])
})

test('the first few stand in the groups they would stand in', () => {
  const groups = grouped(TABLES, VALUES)
  expect(lengthOf(groups)).toBe(5)
  expect(
    firstOf(groups, 2).map(({ title, blocks }) => [title, blocks.map(({ entries }) => entries.map(({ key }) => key))]),
  ).toEqual([
    ['General', [['model']]],
    ['Models and providers', [['providers."my.own".kind']]],
  ])
  expect(lengthOf(firstOf(groups, 5))).toBe(5)
})
