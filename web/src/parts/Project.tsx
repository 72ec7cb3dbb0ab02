import { Autocomplete } from '@mantine/core'
import { IconFolder } from '@tabler/icons-react'
import { useMemo, useState } from 'react'
import { flushSync } from 'react-dom'
import { create } from 'zustand'
import { folderName } from '@/lib/format'
import { useOverview } from '@/state/overview'

const KEPT = 'openagent.project'

/** The folder that pages about a project are about; kept in the browser. Empty until one is known. */
const useChosen = create<{ folder: string }>(() => ({ folder: localStorage.getItem(KEPT) ?? '' }))

/** Folders that sessions worked in, the one used last first. Copies of workspaces belong to sub-agents. */
export function useFolders(): string[] {
  const cards = useOverview((state) => state.cards)
  return useMemo(() => {
    const newest = Object.values(cards)
      .filter(({ info }) => !info.parent)
      .sort((one, other) => other.info.updated_at - one.info.updated_at)
    return [...new Set(newest.map(({ info }) => info.cwd))]
  }, [cards])
}

export function useProject(): string {
  const chosen = useChosen((state) => state.folder)
  const folders = useFolders()
  return chosen || folders[0] || ''
}

export function chooseProject(folder: string): void {
  localStorage.setItem(KEPT, folder)
  useChosen.setState({ folder })
}

/** Which project a page is about: one of those that were worked in, or any other by its path. */
export function ProjectChoice() {
  const project = useProject()
  const folders = useFolders()
  const [typed, setTyped] = useState<string | null>(null)
  const [inside, setInside] = useState(false)
  const choose = (folder: string) => {
    chooseProject(folder)
    setTyped(null)
  }
  return (
    <Autocomplete
      size="xs"
      w={220}
      leftSection={<IconFolder size={14} />}
      aria-label="Project"
      placeholder="/home/me/project"
      data={folders}
      // Its name is enough to know it by; its path is there to be changed.
      value={typed ?? (inside ? project : folderName(project))}
      title={project}
      onChange={setTyped}
      onOptionSubmit={choose}
      onFocus={({ currentTarget }) => {
        // The path is there, and chosen, before the next key: what is typed takes its place, however fast it comes.
        flushSync(() => setInside(true))
        currentTarget.select()
        // A click that focused it ends by placing the cursor.
        const shown = currentTarget.value
        setTimeout(() => currentTarget.value === shown && currentTarget.select())
      }}
      onBlur={() => {
        setInside(false)
        if (typed?.startsWith('/')) choose(typed.trim())
        else setTyped(null)
      }}
      onKeyDown={(event) => {
        if (event.key === 'Enter' && typed?.startsWith('/')) choose(typed.trim())
      }}
      // What was chosen is one of many: all are offered until something is typed.
      filter={({ options, search }) =>
        search === project || search === folderName(project)
          ? options
          : options.filter((one) => 'value' in one && String(one.value).includes(search))
      }
      renderOption={({ option }) => (
        <span className="project-option">
          {folderName(option.value)} <span className="dim cut">{option.value}</span>
        </span>
      )}
    />
  )
}
