import { Page } from '@/parts/Page'
import { ApiKeys } from './ApiKeys'
import { Logins } from './Logins'
import { Tokens } from './Tokens'
import './auth.css'

export default function Auth() {
  return (
    <Page title="Keys and logins">
      <ApiKeys />
      <Logins />
      <Tokens />
    </Page>
  )
}
