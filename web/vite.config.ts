import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import react from '@vitejs/plugin-react'
import { defineConfig, type Plugin } from 'vite'

/** What a person downloads before the first page shows, in bytes of gzipped script. Monaco and xterm come later. */
const FIRST_LOAD_LIMIT = 300 * 1000
const PAGES_COUNTED = ['src/pages/dashboard/index.tsx', 'src/pages/session/index.tsx']

/** Fails the build when a first load grows past its limit. */
function firstLoadLimit(): Plugin {
  return {
    name: 'first-load-limit',
    generateBundle(_options, bundle) {
      const chunks = Object.values(bundle).filter((file) => file.type === 'chunk')
      const byFile = new Map(chunks.map((chunk) => [chunk.fileName, chunk]))
      const entry = chunks.find((chunk) => chunk.isEntry)
      for (const page of PAGES_COUNTED) {
        const start = chunks.find((chunk) => chunk.facadeModuleId?.endsWith(page))
        const wanted = new Set([entry?.fileName, start?.fileName].filter((name) => name !== undefined))
        for (const name of wanted) for (const needed of byFile.get(name)?.imports ?? []) wanted.add(needed)
        const size = [...wanted].reduce((sum, name) => sum + gzipSync(byFile.get(name)?.code ?? '').length, 0)
        const told = `${page}: ${(size / 1000).toFixed(1)} kB of gzipped script at first load`
        if (size > FIRST_LOAD_LIMIT) this.error(`${told}; the limit is ${FIRST_LOAD_LIMIT / 1000} kB`)
        this.info(told)
      }
    },
  }
}

/** The best quality takes half a minute for a few per cent. */
const FAST = { params: { [constants.BROTLI_PARAM_QUALITY]: 6 } }

/** Each text file also compressed, as the daemon serves it. */
function compressed(): Plugin {
  return {
    name: 'compressed',
    generateBundle: {
      order: 'post',
      handler(_options, bundle) {
        for (const file of Object.values(bundle)) {
          if (!/\.(js|css|svg|html)$/.test(file.fileName)) continue
          const content = file.type === 'chunk' ? file.code : file.source
          this.emitFile({ type: 'asset', fileName: `${file.fileName}.gz`, source: gzipSync(content) })
          this.emitFile({ type: 'asset', fileName: `${file.fileName}.br`, source: brotliCompressSync(content, FAST) })
        }
      },
    },
  }
}

const source = (path: string) => new URL(`./src/${path}`, import.meta.url).pathname

export default defineConfig({
  plugins: [react(), firstLoadLimit(), compressed()],
  resolve: {
    alias: {
      '@': source('.'),
      'rehype-raw': source('parts/streamdown/no-html.ts'),
      'rehype-sanitize': source('parts/streamdown/no-html.ts'),
      'rehype-harden': source('parts/streamdown/no-html.ts'),
      'remark-gfm': source('parts/streamdown/gfm.ts'),
      'tailwind-merge': source('parts/streamdown/class-names.ts'),
    },
  },
  build: { outDir: '../src/openagent/web_dist', emptyOutDir: true, target: 'es2022', chunkSizeWarningLimit: 5000 },
  server: {
    proxy: Object.fromEntries(
      ['/ws', '/api'].map((path) => [path, { target: process.env.OPENAGENT_WEB_URL, ws: true, changeOrigin: true }]),
    ),
  },
})
