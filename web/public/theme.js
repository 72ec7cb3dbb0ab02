// Before the first paint, so that nothing flashes. A file of its own: the page allows no inline script.
;(() => {
  let chosen = null
  try {
    chosen = localStorage.getItem('openagent.theme')
  } catch {}
  const light = chosen === 'light' || (chosen !== 'dark' && matchMedia('(prefers-color-scheme: light)').matches)
  document.documentElement.setAttribute('data-mantine-color-scheme', light ? 'light' : 'dark')
})()
