import { clsx } from 'clsx'

/** Stands in for tailwind-merge: there are no Tailwind classes here to merge. */
export const twMerge = clsx
export const extendTailwindMerge = () => clsx
