"""What can be done by name: in the input after `/`, and in the palette."""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import NamedTuple


class Command(NamedTuple):
    name: str
    help: str
    action: str = ""
    """What the program does when the name stands alone, in Textual's words."""
    takes: str = ""
    """What may follow it, for people."""
    does: str = ""
    """A function of `slash.py`, given what follows. Counts before `action`."""
    line: str = ""
    """The command line's words for it; what they print is shown."""
    words: tuple[str, ...] = ()
    """What else it is called, here once or elsewhere. Nobody is told."""


COMMANDS = (
    Command("new", "start a session in this folder", "new_session"),
    Command("clear", "start over in this tab; the old session is kept", does="clear", words=("reset",)),
    Command("resume", "find and open a session", "sessions", words=("sessions", "continue")),
    Command("reopen", "open the sessions that were open here last time", "reopen", words=("tabs", "restore")),
    Command("model", "choose the model", "models", "NAME", does="model", words=("models",)),
    Command("mode", "choose what the agent may do unasked", "modes", "plan|ask|edits|auto|full", does="mode"),
    Command("thinking", "choose how long the model thinks", "thinking", "off|low|medium|high", does="thinking"),
    Command("budget", "limit what the session may spend", "", "DOLLARS|none", does="budget"),
    Command("persona", "go on as a template says", takes="TEMPLATE|none", does="persona"),
    Command("diff", "show what this session changed in your files", takes="TURN", does="diff", words=("changes",)),
    Command("undo", "undo the last changes to files, or those to a file", takes="PATH", does="undo"),
    Command("redo", "bring back what was undone last", "unrewind", words=("unrewind",)),
    Command("rewind", "go back to before a message: files, conversation, or both", "rewind", words=("checkpoint",)),
    Command("fork", "go on in a copy of this session", takes="NAME", does="fork", words=("branch",)),
    Command("compact", "shorten what the model is shown", takes="COLLECTOR", does="compact", words=("collect",)),
    Command("context", "show what fills the model's window", "context"),
    Command("usage", "show the tokens used and the money spent", does="usage", words=("cost", "stats")),
    Command("export", "write the session to a file", takes="FILE.md|.html|.json", does="export"),
    Command("rename", "give the session a name", takes="NAME", does="rename", words=("title",)),
    Command("cancel", "end the running turn", "cancel", words=("stop",)),
    Command("retry", "retry now, or continue a turn that failed", "retry", words=("again",)),
    Command("ask-again", "be asked again what you did not answer in time", "ask_again"),
    Command("let-go", "let go what you did not answer in time", "let_go", words=("dismiss",)),
    Command("close", "close this tab; the session goes on", "close_tab"),
    Command("template", "start a session from a template", "templates", words=("templates",)),
    Command("agents", "show or hide the agents", "panel('agents')"),
    Command("plan", "show or hide the plan", "panel('plan')"),
    Command("tools", "show or hide the tools", "panel('tools')"),
    Command("files", "show or hide the files", "files"),
    Command("copy", "copy the newest answer, or more of the turn", "yank", "model&user&tool", does="copy"),
    Command("find", "find words in this conversation, from its beginning to its end", "find"),
    Command("view", "full view of the newest tool call", "view_full"),
    Command("search", "find what was said in all sessions", takes="WORDS", does="search"),
    Command("queue", "show the messages that wait", does="queue"),
    Command("tasks", "show the tasks on the board", line="tasks list", words=("todos",)),
    Command("grants", "what is allowed without asking, to be revoked", "grants", words=("permissions",)),
    Command("mcp", "switch MCP servers on and off", "mcp", words=("add mcp",)),
    Command("init", "write an AGENTS.md: what an agent must know here", takes="again", does="init"),
    Command("logs", "show the daemon's log", line="logs"),
    Command("skills", "show the skills", line="skills list"),
    Command("hooks", "show the hooks", line="hooks list"),
    Command("plugins", "show the plugins", line="plugins list"),
    Command("config", "show the settings, or change one", takes="set KEY VALUE", does="config", words=("settings",)),
    Command(
        "login",
        "bring a model: a key, a server of this machine, a login",
        "connect",
        "PROVIDER",
        "login",
        "",
        ("connect", "ollama", "provider", "key"),
    ),
    Command("logout", "forget a provider's login or key", takes="PROVIDER", does="logout"),
    Command("trust", "trust this folder's own settings and rules", line="trust"),
    Command("audit", "show what was decided, run and written", line="audit"),
    Command("doctor", "check the installation", line="doctor"),
    Command("status", "show how the daemon is", line="status"),
    Command("theme", "switch between dark and light, or follow the terminal", "theme", "dark|light|auto", does="theme"),
    Command("alerts", "bell and desktop note while you look elsewhere: on or off", "alerts"),
    Command("vim", "switch vim keys in the input on or off", "vim"),
    Command("keybindings", "show the keys, or read the key files again", "help", "reload", does="keybindings"),
    Command("help", "show commands and keys, or a page of the handbook", "help_with_commands", "TOPIC", does="help_"),
    Command("update", "tell whether there is a newer version", line="update --check"),
    Command("version", "show the version", line="version"),
    Command("quit", "leave; sessions go on", "exit", words=("exit", "q")),
)


def named(name: str, commands: Iterable[Command] = COMMANDS) -> Command | None:
    return next((command for command in commands if name == command.name or name in command.words), None)


def nearest(name: str, commands: Sequence[Command]) -> str:
    """The command that was probably meant; empty when none is like it."""
    called = {word: command.name for command in commands for word in (command.name, *command.words)}
    near = get_close_matches(name.lower(), called, n=1)
    return called[near[0]] if near else ""
