// Written by scripts/words.py from what the tools say of themselves. `make docs` renews it.

export interface ToolWords {
  kind: string
  /** Before it runs, while it does, and after. */
  words: [string, string, string]
  /** The argument that stands for the whole call, or a template of several. */
  subject: string
}

export const TOOLS: Record<string, ToolWords> = {
  read_file: { kind: 'read', words: ['read', 'reading', 'read'], subject: 'path' },
  write_file: { kind: 'edit', words: ['write', 'writing', 'wrote'], subject: 'path' },
  edit_file: { kind: 'edit', words: ['edit', 'editing', 'edited'], subject: 'path' },
  apply_patch: { kind: 'edit', words: ['patch', 'patching', 'patched'], subject: '' },
  list_dir: { kind: 'read', words: ['list', 'listing', 'listed'], subject: 'path' },
  glob: { kind: 'search', words: ['look for', 'looking for', 'looked for'], subject: 'pattern' },
  grep: { kind: 'search', words: ['search for', 'searching for', 'searched for'], subject: 'pattern' },
  search_code: { kind: 'search', words: ['search the code for', 'searching the code for', 'searched the code for'], subject: 'query' },
  shell: { kind: 'run', words: ['run', 'running', 'ran'], subject: 'command' },
  shell_output: { kind: 'read', words: ['read background output', 'reading background output', 'read background output'], subject: 'id' },
  execute_code: { kind: 'run', words: ['run code', 'running code', 'ran code'], subject: 'code' },
  git: { kind: 'run', words: ['run', 'running', 'ran'], subject: 'git {subcommand} {args}' },
  web_fetch: { kind: 'fetch', words: ['fetch', 'fetching', 'fetched'], subject: 'url' },
  web_search: { kind: 'fetch', words: ['search the web for', 'searching the web for', 'searched the web for'], subject: 'query' },
  ask_user: { kind: 'ask', words: ['ask', 'asking', 'asked'], subject: 'question' },
  todo: { kind: 'think', words: ['plan', 'planning', 'planned'], subject: '' },
  recall: { kind: 'search', words: ['recall', 'recalling', 'recalled'], subject: '' },
  agent: { kind: 'agent', words: ['delegate to', 'delegating to', 'delegated to'], subject: '' },
  agent_result: { kind: 'agent', words: ['look at agent', 'looking at agent', 'looked at agent'], subject: 'agent' },
  skill: { kind: 'read', words: ['load the skill', 'loading the skill', 'loaded the skill'], subject: 'name' },
  flow: { kind: 'agent', words: ['run the flow', 'running the flow', 'ran the flow'], subject: 'name' },
  find_tools: { kind: 'search', words: ['look for tools:', 'looking for tools:', 'looked for tools:'], subject: 'query' },
  list_mcp_resources: { kind: 'search', words: ['list resources', 'listing resources', 'listed resources'], subject: 'server' },
  read_mcp_resource: { kind: 'read', words: ['call', 'calling', 'called'], subject: '{server}: read {uri}' },
  mcp_sampling: { kind: 'ask', words: ['answer:', 'answering:', 'answered:'], subject: '' },
}
