import { defineConfig } from 'vitest/config'

// Measurements: their figures depend on the machine, so they are no tests.
export default defineConfig({
  resolve: { alias: { '@': new URL('./src', import.meta.url).pathname } },
  test: { include: ['e2e/**/*.bench.ts'], testTimeout: 180_000, hookTimeout: 60_000, fileParallelism: false },
})
