"""Which key does what: the environment over the project's file over the user's file over the defaults."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from openagent.protocol import locations

DEFAULTS = {
    "submit": "enter",
    "newline": "alt+enter,shift+enter,ctrl+j",
    "clear_input": "escape escape",
    "cancel": "ctrl+c",
    "exit": "ctrl+d",
    "scroll_up": "pageup",
    "scroll_down": "pagedown",
    "scroll_top": "ctrl+home",
    "scroll_bottom": "ctrl+end",
    "nav_up": "up",
    "nav_down": "down",
    "pager_quit": "q",
    "pager_next": "space",
    "toggle_plan": "ctrl+p",
    "toggle_tools": "ctrl+t",
    "cycle_agents": "ctrl+a",
    "toggle_files": "ctrl+f",
    "yank": "ctrl+y",
    "view_full": "v",
    "open": "ctrl+o",
    "paste_image": "ctrl+v",
    "palette": "ctrl+k",
    "sessions": "ctrl+l",
    "new_session": "ctrl+n",
    "find": "ctrl+s",
    "help": "f1",
}
MEANINGS = {
    "submit": "send the message",
    "newline": "begin a new line",
    "clear_input": "empty the input",
    "cancel": "empty the input, end the turn, close a dialog",
    "exit": "leave; sessions go on",
    "scroll_up": "a page up",
    "scroll_down": "a page down",
    "scroll_top": "to the beginning",
    "scroll_bottom": "to the end, and follow",
    "nav_up": "earlier input",
    "nav_down": "later input",
    "pager_quit": "close the full view",
    "pager_next": "the full view's next page",
    "toggle_plan": "show or hide the plan",
    "toggle_tools": "show or hide the tools",
    "cycle_agents": "show the agents, then go through them",
    "toggle_files": "show or hide the files",
    "yank": "copy the newest answer",
    "view_full": "full view of a tool call (outside the input)",
    "open": "open or close the newest tool call",
    "paste_image": "paste an image or text from the clipboard",
    "palette": "everything, by name",
    "sessions": "find a session",
    "new_session": "start a session",
    "find": "find words in this conversation",
    "help": "these keys",
}
_SPECIAL = {"c-": "ctrl+", "s-": "shift+", "m-": "alt+", "a-": "alt+"}
_IN_CONTEXT = {"pager_quit", "pager_next"}
"""Actions whose keys count in one place only, so that they collide with nothing else."""
FILE = "keybindings.json"


@dataclass(frozen=True)
class Keys:
    bound: Mapping[str, str]
    """Action to keys, as Textual names them, separated by commas."""
    problems: tuple[str, ...] = ()

    def keys_of(self, action: str) -> set[str]:
        return set(self.bound[action].split(","))

    def label(self, action: str) -> str:
        """How the first key is shown: ^P."""
        key = self.bound[action].split(",")[0]
        return "^" + key[5:].upper() if key.startswith("ctrl+") and len(key) == 6 else key


def translate(key: str | list[str]) -> str:
    """A key in the notation of the files (`c-p`, `escape enter`) as Textual names it."""
    pressed = key.split() if isinstance(key, str) else key
    names = [_one(name.strip().lower() if len(name.strip()) > 1 else name.strip()) for name in pressed]
    if len(names) == 2 and names[0] == "escape" and names[1] != "escape":
        return f"alt+{names[1]}"
    if len(names) > 1 and names != ["escape", "escape"]:
        raise ValueError("a sequence begins with escape and has two keys")
    if not names or not all(names):
        raise ValueError("no key is named")
    return " ".join(names)


def _one(name: str) -> str:
    for short, long in _SPECIAL.items():
        if name.startswith(short) and len(name) > len(short):
            return long + _one(name[len(short) :])
    return name


def is_typed(key: str) -> bool:
    """A key that writes something: in the input it does only that."""
    return "+" not in key and (len(key) == 1 or key in ("space", "enter", "tab", "backspace"))


def load(cwd: str, env: Mapping[str, str]) -> Keys:
    bound, problems = dict(DEFAULTS), list[str]()
    user = Path(locations.config_file(env)).parent / FILE
    for path in (user, Path(cwd) / ".openagent" / FILE):
        _apply(_read(path, problems), str(path), bound, problems)
    given = {action: env[name] for action in DEFAULTS if (name := f"OPENAGENT_KEY_{action.upper()}") in env}
    _apply(given, "the environment", bound, problems)
    owners: dict[str, str] = {}
    for action, keys in bound.items():
        for key in [] if action in _IN_CONTEXT else keys.split(","):
            if key in owners:
                problems.append(f"{key} is bound to both {owners[key]} and {action}; {owners[key]} wins.")
            owners.setdefault(key, action)
    return Keys(bound, tuple(problems))


def _read(path: Path, problems: list[str]) -> dict[str, Any]:
    try:
        read: object = json.loads(path.read_text())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as problem:
        problems.append(f"{path} was left out: {problem}.")
        return {}
    if not isinstance(read, dict):
        problems.append(f"{path} was left out: it holds no JSON object.")
        return {}
    return cast(dict[str, Any], read)


def _apply(given: Mapping[str, Any], where: str, bound: dict[str, str], problems: list[str]) -> None:
    for action, key in given.items():
        if action not in DEFAULTS:
            problems.append(f"{where}: there is no action {action!r}.")
            continue
        try:
            bound[action] = translate(key)
        except (ValueError, AttributeError, TypeError) as problem:
            problems.append(f"{where}: {action}: {problem}.")
