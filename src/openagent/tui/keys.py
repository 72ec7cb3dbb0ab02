"""Which key does what: the environment over the project's file over the user's file over the defaults."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, cast

from openagent.protocol import locations


class Action(NamedTuple):
    keys: str
    """As Textual names them, separated by commas; two with a space between them are pressed one after the other."""
    meaning: str
    group: str
    short: str = ""
    """The same in a word, where there is room for no more."""


GROUPS = _TURN, _WRITING, _PANELS, _TABS, _READING, _LINE = (
    *("The turn", "Writing", "Panels", "Tabs and sessions", "Reading", "The line"),
)
ACTIONS = {
    "submit": Action("enter", "send the message", _WRITING),
    "newline": Action("alt+enter,shift+enter,ctrl+enter,ctrl+j", "begin a new line; so does \\ before enter", _WRITING),
    "nav_up": Action("up,ctrl+p", "earlier input", _WRITING),
    "nav_down": Action("down,ctrl+n", "later input", _WRITING),
    "clear_input": Action("escape escape", "put the draft away; up brings it back", _WRITING),
    "history_search": Action("ctrl+r", "find what was typed before", _WRITING),
    "editor": Action("ctrl+g,ctrl+x ctrl+e", "write in $VISUAL or $EDITOR", _WRITING),
    "paste_image": Action("ctrl+v", "paste an image or text from the clipboard", _WRITING),
    "line_start": Action("ctrl+a,home", "to the line's beginning", _LINE),
    "line_end": Action("ctrl+e,end", "to the line's end", _LINE),
    "character_left": Action("ctrl+b,left", "a character to the left", _LINE),
    "character_right": Action("ctrl+f,right", "a character to the right", _LINE),
    "word_left": Action("alt+b,alt+left,ctrl+left", "a word to the left", _LINE),
    "word_right": Action("alt+f,alt+right,ctrl+right", "a word to the right", _LINE),
    "cut_to_end": Action("ctrl+k", "cut to the line's end", _LINE),
    "cut_to_start": Action("ctrl+u", "cut to the line's beginning", _LINE),
    "cut_blank_word": Action("ctrl+w", "cut back to the blank before", _LINE),
    "cut_word_left": Action("alt+backspace,ctrl+backspace", "cut the word to the left", _LINE),
    "cut_word_right": Action("alt+d", "cut the word to the right", _LINE),
    "put_back": Action("ctrl+y", "put back what was cut", _LINE),
    "swap": Action("ctrl+t", "swap two characters", _LINE),
    "undo": Action("ctrl+underscore,ctrl+slash,ctrl+z", "undo a change of the draft", _LINE),
    "cancel": Action("ctrl+c", "stop the turn, or put the draft away; close a dialog; twice leaves", _TURN),
    "retry": Action("f5", "retry now; continue a turn that failed or was stopped", _TURN, "retry"),
    "cycle_mode": Action("shift+tab", "the next mode: plan, ask, edits, auto", _TURN),
    "exit": Action("ctrl+d", "leave, from an empty input; sessions go on", _TURN),
    "scroll_up": Action("pageup", "a page up", _READING),
    "scroll_down": Action("pagedown", "a page down", _READING),
    "line_up": Action("alt+up,ctrl+up", "a line up", _READING),
    "line_down": Action("alt+down,ctrl+down", "a line down", _READING),
    "scroll_top": Action("ctrl+home", "to the beginning", _READING),
    "scroll_bottom": Action("ctrl+end", "to the end, and follow", _READING),
    "open": Action("ctrl+o", "open or close the newest tool call", _READING),
    "view_full": Action("ctrl+x v", "full view of a tool call", _READING, "full view"),
    "yank": Action("ctrl+x y", "copy the newest answer", _READING, "copy"),
    "pager_quit": Action("q", "close the full view", _READING),
    "pager_next": Action("space", "the full view's next page", _READING),
    "find": Action("ctrl+s", "find words in this conversation", _READING),
    "redraw": Action("ctrl+l", "draw the screen anew", _READING),
    "next_tab": Action("ctrl+pagedown,ctrl+x right", "the next tab", _TABS, "next"),
    "previous_tab": Action("ctrl+pageup,ctrl+x left", "the tab before", _TABS, "previous"),
    "sessions": Action("ctrl+x l", "find a session", _TABS, "sessions"),
    "new_session": Action("ctrl+x n", "start a session", _TABS, "new"),
    "close_tab": Action("ctrl+x w", "close the tab; its session goes on", _TABS, "close"),
    "models": Action("ctrl+x m", "choose the model", _PANELS, "model"),
    "palette": Action("ctrl+x k", "everything, by name", _PANELS, "all"),
    "toggle_plan": Action("ctrl+x p", "show or hide the plan", _PANELS, "plan"),
    "toggle_tools": Action("ctrl+x t", "show or hide the tools", _PANELS, "tools"),
    "cycle_agents": Action("ctrl+x a", "show the agents, then go through them", _PANELS, "agents"),
    "toggle_files": Action("ctrl+x f", "show or hide the files", _PANELS, "files"),
    "help": Action("f1", "these keys; so does ? in an empty input", _PANELS),
}
FIXED = (
    Action("tab", "between the input and what is above it; enter opens it, esc and letters come back", _READING),
    Action("alt+1 … 9", "go to a tab; ctrl+x 1 … 9 does, in every terminal", _TABS),
    Action("a s A d D ?", "answer a permission: once, session, always, deny, deny saying why, why", _TURN),
    Action("escape", "stop the running turn and keep the draft; at a permission: deny, and stop the turn", _TURN),
    Action("@", "name a file", _WRITING),
    Action("!", "run a command in the session's shell", _WRITING),
)
"""What no file binds anew."""
DEFAULTS = {name: action.keys for name, action in ACTIONS.items()}
LINE = frozenset(name for name, action in ACTIONS.items() if action.group == _LINE)
"""What changes the line that is written, and moves in it."""
_SPECIAL = {"c-": "ctrl+", "s-": "shift+", "m-": "alt+", "a-": "alt+"}
_IN_CONTEXT = {"pager_quit", "pager_next"}
"""Actions whose keys count in one place only, so that they collide with nothing else."""
FILE = "keybindings.json"
ARROWS = {"left": "←", "right": "→"}


@dataclass(frozen=True)
class Keys:
    bound: Mapping[str, str]
    """Action to keys, as Textual names them, separated by commas."""
    problems: tuple[str, ...] = ()

    def keys_of(self, action: str) -> set[str]:
        return set(self.bound[action].split(",")) - {""}

    def label(self, action: str) -> str:
        """How the first key is shown: ^O, or ^X P."""
        return " ".join(_short(key) for key in self.bound[action].split(",")[0].split())

    @cached_property
    def chords(self) -> Mapping[str, Mapping[str, str]]:
        """First key to second key to action. A key that does something by itself begins none."""
        alone = {key for name in self.bound for key in self.keys_of(name) if " " not in key}
        found: dict[str, dict[str, str]] = {}
        for name in self.bound:
            for first, _, second in (key.partition(" ") for key in self.bound[name].split(",")):
                if second and first not in alone | {"escape"}:
                    found.setdefault(first, {}).setdefault(second, name)
        return found


def _short(key: str) -> str:
    return "^" + key[5:].upper() if key.startswith("ctrl+") and len(key) == 6 else key


def translate(key: str | list[str]) -> str:
    """A key in the notation of the files (`c-p`, `escape enter`) as Textual names it."""
    pressed = key.split() if isinstance(key, str) else key
    names = [_one(name.strip().lower() if len(name.strip()) > 1 else name.strip()) for name in pressed]
    if len(names) == 2 and names[0] == "escape" and names[1] != "escape":
        return f"alt+{names[1]}"
    if len(names) > 2 or (len(names) == 2 and names != ["escape", "escape"] and "+" not in names[0]):
        raise ValueError("a sequence begins with escape or with a key pressed with Ctrl or Alt, and has two keys")
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
    _make_room(bound)
    owners: dict[str, str] = {}
    for action, keys in bound.items():
        for key in [] if action in _IN_CONTEXT or not keys else keys.split(","):
            if key in owners:
                problems.append(f"{key} is bound to both {owners[key]} and {action}; {owners[key]} wins.")
            owners.setdefault(key, action)
    return Keys(bound, tuple(problems))


def _make_room(bound: dict[str, str]) -> None:
    """What a person binds takes the key from what has others by default, and from the keys of the line."""
    chosen = {key for action, keys in bound.items() if keys != DEFAULTS[action] for key in keys.split(",")}
    for action, keys in bound.items():
        if keys == DEFAULTS[action] and action not in _IN_CONTEXT:
            left = [key for key in keys.split(",") if key not in chosen]
            bound[action] = ",".join(left) if left or action in LINE else keys


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
