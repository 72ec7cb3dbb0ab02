// Written by scripts/words.py from the terminal's commands. `make docs` renews it.

export interface CommandWords {
  name: string
  help: string
  /** What may follow it, for people. */
  takes: string
  /** What else it is called. */
  words: string[]
}

/** The commands of the terminal, in its order. */
export const COMMANDS = [
  { name: 'new', help: 'start a session in this folder', takes: '', words: [] },
  { name: 'clear', help: 'start over in this tab; the old session is kept', takes: '', words: ['reset'] },
  { name: 'resume', help: 'find and open a session', takes: '', words: ['sessions', 'continue'] },
  { name: 'reopen', help: 'open the sessions that were open here last time', takes: '', words: ['tabs', 'restore'] },
  { name: 'model', help: 'choose the model', takes: 'NAME', words: ['models'] },
  { name: 'mode', help: 'choose what the agent may do unasked', takes: 'plan|ask|edits|auto|full', words: [] },
  { name: 'thinking', help: 'choose how long the model thinks', takes: 'off|low|medium|high', words: [] },
  { name: 'budget', help: 'limit what the session may spend', takes: 'DOLLARS|none', words: [] },
  { name: 'persona', help: 'go on as a template says', takes: 'TEMPLATE|none', words: [] },
  { name: 'diff', help: 'show what this session changed in your files', takes: 'TURN', words: ['changes'] },
  { name: 'undo', help: 'undo the last changes to files, or those to a file', takes: 'PATH', words: [] },
  { name: 'redo', help: 'bring back what was undone last', takes: '', words: ['unrewind'] },
  { name: 'rewind', help: 'go back to before a message: files, conversation, or both', takes: '', words: ['checkpoint'] },
  { name: 'fork', help: 'go on in a copy of this session', takes: 'NAME', words: ['branch'] },
  { name: 'compact', help: 'shorten what the model is shown', takes: 'COLLECTOR', words: ['collect'] },
  { name: 'context', help: 'show what fills the model\'s window', takes: '', words: [] },
  { name: 'usage', help: 'show the tokens used and the money spent', takes: '', words: ['cost', 'stats'] },
  { name: 'export', help: 'write the session to a file', takes: 'FILE.md|.html|.json', words: [] },
  { name: 'rename', help: 'give the session a name', takes: 'NAME', words: ['title'] },
  { name: 'cancel', help: 'end the running turn', takes: '', words: ['stop'] },
  { name: 'retry', help: 'retry now, or continue a turn that failed', takes: '', words: ['again'] },
  { name: 'ask-again', help: 'be asked again what you did not answer in time', takes: '', words: [] },
  { name: 'let-go', help: 'let go what you did not answer in time', takes: '', words: ['dismiss'] },
  { name: 'close', help: 'close this tab; the session goes on', takes: '', words: [] },
  { name: 'template', help: 'start a session from a template', takes: '', words: ['templates'] },
  { name: 'agents', help: 'show or hide the agents', takes: '', words: [] },
  { name: 'plan', help: 'show or hide the plan', takes: '', words: [] },
  { name: 'tools', help: 'show or hide the tools', takes: '', words: [] },
  { name: 'files', help: 'show or hide the files', takes: '', words: [] },
  { name: 'copy', help: 'copy the newest answer, or more of the turn', takes: 'model&user&tool', words: [] },
  { name: 'find', help: 'find words in this conversation, from its beginning to its end', takes: '', words: [] },
  { name: 'view', help: 'full view of the newest tool call', takes: '', words: [] },
  { name: 'search', help: 'find what was said in all sessions', takes: 'WORDS', words: [] },
  { name: 'queue', help: 'show the messages that wait', takes: '', words: [] },
  { name: 'tasks', help: 'show the tasks on the board', takes: '', words: ['todos'] },
  { name: 'grants', help: 'what is allowed without asking, to be revoked', takes: '', words: ['permissions'] },
  { name: 'mcp', help: 'switch MCP servers on and off', takes: '', words: ['add mcp'] },
  { name: 'init', help: 'write an AGENTS.md: what an agent must know here', takes: 'again', words: [] },
  { name: 'logs', help: 'show the daemon\'s log', takes: '', words: [] },
  { name: 'skills', help: 'show the skills', takes: '', words: [] },
  { name: 'hooks', help: 'show the hooks', takes: '', words: [] },
  { name: 'plugins', help: 'show the plugins', takes: '', words: [] },
  { name: 'config', help: 'show the settings, or change one', takes: 'set KEY VALUE', words: ['settings'] },
  { name: 'login', help: 'bring a model: a key, a server of this machine, a login', takes: 'PROVIDER', words: ['connect', 'ollama', 'provider', 'key'] },
  { name: 'logout', help: 'forget a provider\'s login or key', takes: 'PROVIDER', words: [] },
  { name: 'trust', help: 'trust this folder\'s own settings and rules', takes: '', words: [] },
  { name: 'audit', help: 'show what was decided, run and written', takes: '', words: [] },
  { name: 'doctor', help: 'check the installation', takes: '', words: [] },
  { name: 'status', help: 'show how the daemon is', takes: '', words: [] },
  { name: 'theme', help: 'switch between dark and light, or follow the terminal', takes: 'dark|light|auto', words: [] },
  { name: 'alerts', help: 'bell and desktop note while you look elsewhere: on or off', takes: '', words: [] },
  { name: 'vim', help: 'switch vim keys in the input on or off', takes: '', words: [] },
  { name: 'keybindings', help: 'show the keys, or read the key files again', takes: 'reload', words: [] },
  { name: 'help', help: 'show commands and keys, or a page of the handbook', takes: 'TOPIC', words: [] },
  { name: 'update', help: 'tell whether there is a newer version', takes: '', words: [] },
  { name: 'version', help: 'show the version', takes: '', words: [] },
  { name: 'quit', help: 'leave; sessions go on', takes: '', words: ['exit', 'q'] },
] as const satisfies readonly CommandWords[]

/** What /init asks of an agent. */
export const INIT_PROMPT = 'Look through this repository and write AGENTS.md at its root, for the coding agents that will work here. Keep it under 60 lines. Write down what cannot be guessed from one file alone: how to set up, build, test and lint (and how to run a single test), where things are and how the parts depend on each other, the conventions this code follows, and what people get wrong. Check commands against the files they come from (Makefile, package.json, pyproject.toml, CI). Leave out what any agent knows, lists of every file, and anything you did not see. If there is an AGENTS.md, a CLAUDE.md, .cursorrules or a copilot-instructions.md, keep what is true in them and improve it. Write nothing but AGENTS.md.'
