import { common, createLowlight } from 'lowlight'

/** Loaded with the first code that is shown in colours. */
export const lowlight = createLowlight(common)
