import { toJsxRuntime } from 'hast-util-to-jsx-runtime'
import { common, createLowlight } from 'lowlight'
import { memo } from 'react'
import { Fragment, jsx, jsxs } from 'react/jsx-runtime'
import './highlighted.css'

const lowlight = createLowlight(common)

/** Code with its words coloured by what they are. Loaded when the first code block is shown. */
export default memo(function Highlighted({ code, language }: { code: string; language: string }) {
  if (!lowlight.registered(language)) return code
  return toJsxRuntime(lowlight.highlight(language, code), { Fragment, jsx, jsxs })
})
