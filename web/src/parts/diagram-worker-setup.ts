/**
 * The layout library takes a worker without a document for its own and would listen in our place; and the one that draws
 * puts `self` back after having had a look at it, which a worker allows only for a property of its own.
 */
Object.defineProperty(globalThis, 'self', { value: globalThis, writable: true, configurable: true })
Object.assign(globalThis, { document: { createElement: () => ({}) } })

export {}
