"""What can be done by name: in the input after `/`, and in the palette."""

from typing import NamedTuple


class Command(NamedTuple):
    name: str
    help: str
    action: str
    """What the program does, in Textual's words."""


COMMANDS = (
    Command("sessions", "find and open a session", "sessions"),
    Command("new", "start a session in this folder", "new_session"),
    Command("close", "close this tab; the session goes on", "close_tab"),
    Command("model", "choose the model", "models"),
    Command("mode", "choose what the agent may do unasked", "modes"),
    Command("rewind", "go back to before a message", "rewind"),
    Command("cancel", "end the running turn", "cancel"),
    Command("plan", "show or hide the plan", "panel('plan')"),
    Command("tools", "show or hide the tools", "panel('tools')"),
    Command("agents", "show or hide the agents", "panel('agents')"),
    Command("copy", "copy the newest answer", "yank"),
    Command("theme", "switch between dark and light", "theme"),
    Command("keybindings", "read the key files again (/keybindings reload)", "reload_keys"),
    Command("help", "show the keys", "help"),
    Command("quit", "leave; sessions go on", "exit"),
)


def named(name: str) -> Command | None:
    return next((command for command in COMMANDS if command.name == name), None)
