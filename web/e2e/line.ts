import { once } from 'node:events'
import { connect } from 'node:net'
import { join } from 'node:path'
import type { OpFields, OpName } from '../src/connection/connection'
import type { Results } from '../src/protocol/types'
import { PROTOCOL_VERSION } from '../src/protocol/types'

/** One op over the daemon's socket, as a test's own hand. */
export async function ask<K extends OpName>(home: string, op: K, fields: OpFields<K>): Promise<Results[K]> {
  const socket = connect(join(home, 'daemon.sock'))
  await once(socket, 'connect')
  const put = (value: unknown) => {
    const body = Buffer.from(JSON.stringify(value))
    const head = Buffer.alloc(4)
    head.writeUInt32BE(body.length)
    socket.write(Buffer.concat([head, body]))
  }
  put({ op: 'hello', id: '1', protocol: PROTOCOL_VERSION, client: 'test' })
  put({ op, id: '2', ...fields })
  let waiting = Buffer.alloc(0)
  for await (const piece of socket) {
    waiting = Buffer.concat([waiting, piece as Buffer])
    while (waiting.length >= 4 && waiting.length >= 4 + waiting.readUInt32BE(0)) {
      const size = waiting.readUInt32BE(0)
      const event = JSON.parse(waiting.subarray(4, 4 + size).toString())
      waiting = waiting.subarray(4 + size)
      if (event.op_id !== '2') continue
      socket.destroy()
      if (event.type === 'failed') throw new Error(event.error.message)
      return event.result
    }
  }
  throw new Error('The daemon ended the line.')
}
