import { defineConfig } from 'vitest/config'

// Two files at a time: each starts a daemon and a browser, which mostly wait, and two cores are what a small machine has.
export default defineConfig({
  resolve: { alias: { '@': new URL('./src', import.meta.url).pathname } },
  test: { include: ['e2e/**/*.test.ts'], testTimeout: 60_000, hookTimeout: 60_000, maxWorkers: 2 },
})
