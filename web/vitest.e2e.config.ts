import { defineConfig } from 'vitest/config'

// One file at a time: each starts a daemon and a browser, and two cores are shared with the Python tests.
export default defineConfig({
  resolve: { alias: { '@': new URL('./src', import.meta.url).pathname } },
  test: { include: ['e2e/**/*.test.ts'], testTimeout: 60_000, hookTimeout: 60_000, fileParallelism: false },
})
