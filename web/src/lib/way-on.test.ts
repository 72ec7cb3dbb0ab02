import { expect, it } from 'vitest'
import { wayOn } from './way-on'

it('leads from a missing model or a refused key to the page for it, and from nothing else', () => {
  expect(wayOn({ code: 'model_not_found', message: 'No model is set up.' })?.to).toBe('/welcome')
  expect(wayOn({ code: 'config_error', message: "There is no provider named 'x'." })?.to).toBe('/welcome')
  expect(wayOn({ code: 'auth_failed', message: 'anthropic refused the key.' })?.to).toBe('/auth')
  expect(wayOn({ code: 'model_not_found', message: "x has no model named 'y'." })).toBeNull()
  expect(wayOn(new Error('The connection was lost.'))).toBeNull()
})
