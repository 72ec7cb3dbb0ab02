import { Page } from '@/parts/Page'
import { ApiKeys } from './ApiKeys'
import { Logins } from './Logins'
import { Providers } from './Providers'
import { ThisBrowser } from './ThisBrowser'
import { Tokens } from './Tokens'
import './auth.css'

export default function Auth() {
  return (
    <Page title="Keys and logins">
      <ApiKeys />
      <Logins />
      <Providers />
      <Tokens />
      <ThisBrowser />
    </Page>
  )
}
