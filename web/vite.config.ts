import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import react from '@vitejs/plugin-react'
import { defineConfig, type Plugin } from 'vite'

/** What a person downloads before a page shows all it has to show, in bytes of gzipped script. */
const FIRST_LOAD_LIMIT = 300 * 1000

/** The pages people begin with, and what each asks for by itself as soon as it is there: nobody has to click for it. */
const FIRST_LOADS = [
  { page: 'src/pages/dashboard/index.tsx', soon: ['src/parts/Highlighted.tsx'] },
  {
    page: 'src/pages/session/index.tsx',
    soon: ['src/parts/Formatted.tsx', 'src/parts/Highlighted.tsx', 'src/pages/session/SidePane.tsx'],
  },
]

/** Fails the build when a first load grows past its limit. */
function firstLoadLimit(): Plugin {
  return {
    name: 'first-load-limit',
    generateBundle(_options, bundle) {
      const chunks = Object.values(bundle).filter((file) => file.type === 'chunk')
      const byFile = new Map(chunks.map((chunk) => [chunk.fileName, chunk]))
      const fileOf = (module: string) => {
        const found = chunks.find((chunk) => chunk.moduleIds.some((id) => id.endsWith(`/web/${module}`)))
        return found?.fileName ?? this.error(`${module} is no part that loads by itself: put FIRST_LOADS right`)
      }
      const entries = chunks.filter((chunk) => chunk.isEntry).map((chunk) => chunk.fileName)
      for (const { page, soon } of FIRST_LOADS) {
        const wanted = new Set([...entries, ...[page, ...soon].map(fileOf)])
        for (const name of wanted) for (const needed of byFile.get(name)?.imports ?? []) wanted.add(needed)
        const size = [...wanted].reduce((sum, name) => sum + gzipSync(byFile.get(name)?.code ?? '').length, 0)
        const told = `${page}: ${(size / 1000).toFixed(1)} kB of gzipped script at first load`
        if (size > FIRST_LOAD_LIMIT) this.error(`${told}; the limit is ${FIRST_LOAD_LIMIT / 1000} kB`)
        this.info(told)
      }
    },
  }
}

/** Maths comes with each of its fonts in three formats; every browser that runs this app reads the first. */
function fewerFonts(): Plugin {
  return {
    name: 'fewer-fonts',
    enforce: 'pre',
    transform(code, id) {
      if (!id.endsWith('katex.min.css')) return
      return { code: code.replace(/,url\([^)]*\)\s*format\("(?:woff|truetype)"\)/g, ''), map: null }
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
  plugins: [react(), fewerFonts(), firstLoadLimit(), compressed()],
  resolve: {
    alias: { '@': source('.') },
  },
  build: { outDir: '../src/openagent/web_dist', emptyOutDir: true, target: 'es2022', chunkSizeWarningLimit: 5000 },
  server: {
    proxy: Object.fromEntries(
      ['/ws', '/api'].map((path) => [path, { target: process.env.OPENAGENT_WEB_URL, ws: true, changeOrigin: true }]),
    ),
  },
})
