import { defineConfig } from 'vitest/config'

// Two files at a time: each starts a daemon and a browser, which mostly wait, and two cores are what a small machine has.
export default defineConfig({
  resolve: { alias: { '@': new URL('./src', import.meta.url).pathname } },
  test: {
    include: ['e2e/**/*.test.ts'],
    testTimeout: 180_000,
    hookTimeout: 120_000,
    // What a person waits for comes later on a busy machine, and a second is soon over there.
    expect: { poll: { timeout: 30_000 } },
    maxWorkers: 2,
  },
})
