// Written by scripts/words.py from what tools and events say of themselves. `make docs` renews it.

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

/** What a session is doing, in words. */
export const STATUSES = {
  idle: 'idle',
  thinking: 'thinking',
  executing_tool: 'running a tool',
  waiting_approval: 'waiting for you',
  error: 'failed',
  interrupted: 'interrupted',
  unanswered: 'nobody answered',
} as const

/** A line that tells of an event: templates, which telling.ts fills in. */
export interface Line {
  text: string
  tone: 'plain' | 'warning' | 'error'
  hint?: string
  detail?: string
  when?: string
}

/** Events that are told in lines. */
export const LINES: Record<string, Line[]> = {
  'session.deleted': [{ text: 'The session was deleted.', tone: 'error' }],
  'message.queued': [{ text: 'Queued; it is next when this turn has ended.', tone: 'plain', when: '!in_line' }],
  'turn.waiting': [{ text: 'Waiting for other turns to end: number {place} of {waiting} in line.', tone: 'plain', when: '!limit' }, { text: '{limit}, so this one waits: number {place} of {waiting} in line.', tone: 'plain', when: 'limit' }],
  'session.presence': [{ text: 'Here now: {who}.', tone: 'plain' }],
  'queue.changed': [{ text: 'Held back, since the turn before was cancelled: {queued:messages}.', tone: 'warning', hint: 'They follow the next message, or `openagent sessions queue {session} --resume`.', when: 'held' }],
  'budget.warning': [{ text: '{spent:money} of the session\'s {limit:money} are spent.', tone: 'warning', hint: 'At the limit it stops: /budget raises it.', when: 'scope!=day' }, { text: '{spent:money} of today\'s {limit:money} are spent.', tone: 'warning', hint: 'At the limit every session stops: openagent config set budget.day_usd raises it.', when: 'scope=day' }],
  'budget.exceeded': [{ text: 'The session\'s budget of {limit:money} does not cover the next request.', tone: 'error', hint: '/budget raises it.', when: 'scope!=day' }, { text: 'Today\'s budget of {limit:money} does not cover the next request.', tone: 'error', hint: 'openagent config set budget.day_usd raises it.', when: 'scope=day' }],
  'context.threshold': [{ text: 'The context is {percent:percent} full.', tone: 'plain' }],
  'context.collected': [{ text: 'Older messages were put away to make room, by {collector}: {tokens_before:number} → {tokens_after:number} tokens.', tone: 'plain', detail: '{summary}', when: '!note' }, { text: 'Older messages were put away to make room, by {collector}: {tokens_before:number} → {tokens_after:number} tokens.', tone: 'warning', hint: '{note}', detail: '{summary}', when: 'note' }],
  'context.restored': [{ text: 'The model sees again what was put away: {tokens_before:number} → {tokens_after:number} tokens.', tone: 'plain' }],
  'context.pinned': [{ text: 'Message {message_number} is pinned: no collection takes it away.', tone: 'plain', when: 'pinned' }, { text: 'Message {message_number} is no longer pinned.', tone: 'plain', when: '!pinned' }],
  'intent.detected': [{ text: 'Taken for {intent.type} ({intent.confidence:part})[, tools: {tools:list}].', tone: 'plain', when: 'used intent.type!=research' }, { text: 'Taken for {intent.type} ({intent.confidence:part}), searching for “{intent.query}”[, tools: {tools:list}].', tone: 'plain', when: 'used intent.type=research' }, { text: '{note}', tone: 'plain', when: '!used note' }],
  'retry.scheduled': [{ text: 'Retrying in {delay_s:seconds} ({attempt} of {max_attempts}): {error.message}', tone: 'warning', when: 'delay_s' }, { text: 'Retrying ({attempt} of {max_attempts}): {error.message}', tone: 'warning', when: '!delay_s' }],
  'provider.failed_over': [{ text: '{to_model} goes on in place of {from_model}:', tone: 'warning', hint: '{reason}' }],
  'model.routed': [{ text: 'Answered by {model}:', tone: 'plain', hint: '{reason}' }],
  'login.required': [{ text: 'The login to {provider} has ended.', tone: 'warning', hint: 'Log in again: openagent auth login {provider}', detail: '{reason}' }],
  'subagent.started': [{ text: '→ {template} ({child}): {task:line}', tone: 'plain' }],
  'subagent.finished': [{ text: '← {template} ({child}) is done, {cost_usd:usd}[, {changed:files} merged].', tone: 'plain', when: 'reason=done' }, { text: '← {template} ({child}) ended: {reason:words}, {cost_usd:usd}[, {changed:files} merged].', tone: 'plain', hint: '{error.message}', when: 'reason!=done' }, { text: '{template} left edits that did not come back[: conflicts in {conflicts:list}].', tone: 'warning', hint: 'Look with `openagent workspaces diff {copy}`.', when: 'copy' }],
  'flow.started': [{ text: 'The flow {name} begins: {steps:list}.', tone: 'plain' }],
  'flow.step': [{ text: '▸ {step}', tone: 'plain', when: 'state=running !round' }, { text: '{step}, round {round}', tone: 'plain', when: 'state=running round' }, { text: '{step} is {state:words}[: {text:line}]', tone: 'plain', when: 'state!=running' }],
  'flow.finished': [{ text: 'The flow is done, {cost_usd:usd}.', tone: 'plain', when: 'state=done' }, { text: 'The flow is {state:words}, {cost_usd:usd}.', tone: 'warning', hint: '{error.message}', when: 'state!=done' }],
  'checkpoint.restored': [{ text: 'Went back to before turn {turn}.', tone: 'warning', hint: 'The model no longer knows what came since.[ {others:files} that others changed stayed as they are.]', when: 'undo conversation' }, { text: 'Undid the changes to files since turn {turn}.', tone: 'warning', hint: '[{others:files} that others changed stayed as they are.]', when: 'undo !conversation !reverted' }, { text: 'Changes to {reverted} were reverted.', tone: 'warning', when: 'undo reverted' }, { text: 'The changes to {reverted} are back.', tone: 'warning', when: '!undo reverted' }, { text: 'The rewind was taken back.', tone: 'warning', hint: '[{others:files} that others changed stayed as they are.]', when: '!undo !reverted' }],
  'mcp.late': [{ text: 'Waiting for the MCP server {server}, at most {seconds:seconds}.', tone: 'plain', when: 'state=awaited' }, { text: 'The MCP server {server} is still starting. The turn goes on without it and gets its tools when it is up.', tone: 'warning', when: 'state=left_out' }, { text: 'The MCP server {server} is up, its tools can be used: {tools:number}.', tone: 'plain', when: 'state=joined' }, { text: 'The MCP server {server} could not be started.', tone: 'warning', hint: '{detail}', when: 'state=failed' }],
  'background.started': [{ text: '{command_id} goes on in the background: {command:line}', tone: 'plain' }],
  'background.finished': [{ text: '{command_id} was ended in the background; how far it had come is not known.', tone: 'warning', when: 'lost' }, { text: '{command_id} ended in the background[ with exit code {exit_code}].', tone: 'plain', when: '!lost' }],
  'shell.replaced': [{ text: '{mode} mode has a new shell: what was defined in the old one and what ran in it is gone.', tone: 'plain', hint: 'The directory and plain variables are kept.' }],
  'hook.ran': [{ text: 'hook {hook} {outcome}[: {detail}]', tone: 'warning', when: 'outcome!=done' }],
  'error': [{ text: '{error.message}', tone: 'error', hint: '{error.hint}' }],
}
