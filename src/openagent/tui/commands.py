"""What can be done by name: in the input after `/`, and in the palette."""

from collections.abc import Sequence
from typing import NamedTuple


class Command(NamedTuple):
    name: str
    help: str
    action: str = ""
    """What the program does, in Textual's words. Empty: the daemon does it."""
    takes: str = ""
    """What may follow it, for people."""


COMMANDS = (
    Command("sessions", "find and open a session", "sessions"),
    Command("new", "start a session in this folder", "new_session"),
    Command("template", "start a session from a template", "templates"),
    Command("close", "close this tab; the session goes on", "close_tab"),
    Command("rename", "give the session a name", "", "NAME"),
    Command("model", "choose the model", "models"),
    Command("connect", "choose what answers: a key, a server of this machine, a login", "connect"),
    Command("mode", "choose what the agent may do unasked", "modes"),
    Command("grants", "what is allowed without asking, to be revoked", "grants"),
    Command("rewind", "go back to before a message", "rewind"),
    Command("unrewind", "take the last rewind back", "unrewind"),
    Command("cancel", "end the running turn", "cancel"),
    Command("mcp", "switch MCP servers on and off", "mcp"),
    Command("plan", "show or hide the plan", "panel('plan')"),
    Command("tools", "show or hide the tools", "panel('tools')"),
    Command("agents", "show or hide the agents", "panel('agents')"),
    Command("files", "show or hide the files", "files"),
    Command("context", "what takes how much of the model's window", "context"),
    Command("copy", "copy the newest answer, or more of the turn", "yank", "model&user&tool"),
    Command("find", "find words in this conversation, from its beginning to its end", "find"),
    Command("view", "full view of the newest tool call", "view_full"),
    Command("theme", "switch between dark and light, or follow the terminal", "theme", "dark|light|auto"),
    Command("vim", "switch vim keys in the input on or off", "vim"),
    Command("keybindings", "show the keys, or read the key files again", "help", "reload"),
    Command("help", "show the keys", "help"),
    Command("quit", "leave; sessions go on", "exit"),
)


def named(name: str, commands: Sequence[Command] = COMMANDS) -> Command | None:
    return next((command for command in commands if command.name == name), None)
