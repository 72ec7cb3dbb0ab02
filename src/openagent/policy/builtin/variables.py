"""Variables and settings that decide which programs start; `variables.toml` names them."""

import re
import tomllib
from functools import cache
from pathlib import Path

import msgspec
from msgspec import Struct

from openagent.bash.values import Value
from openagent.policy.builtin.calls import InnerScript, Outcome, started
from openagent.policy.builtin.catalogue import hit

_FILE = Path(__file__).with_name("variables.toml")
_PROGRAM = re.compile(r"COMMAND$|PAGER$|EDITOR$|SSH$|DIFF$|ASKPASS$|ENV$")


class _Variables(Struct, frozen=True, forbid_unknown_fields=True):
    steering: str
    plain: str
    harmless: str
    harmless_values: list[str]
    harmless_settings: str


@cache
def _told() -> tuple[re.Pattern[str], frozenset[str], re.Pattern[str], re.Pattern[str]]:
    """Names that steer, what is harmless all the same, git's harmless settings, and names of which nothing follows."""
    told = msgspec.convert(tomllib.loads(_FILE.read_text()), _Variables)
    harmless = frozenset((*told.harmless.split(), *told.harmless_values))
    plain = _any_of(f"{told.plain} {told.harmless}")
    return _any_of(told.steering), harmless, _any_of(told.harmless_settings), plain


def is_plain(name: str) -> bool:
    """Whoever allowed a command allowed it with this variable."""
    return bool(_told()[3].fullmatch(name))


def _any_of(names: str) -> re.Pattern[str]:
    """A `*` at a name's end stands for whatever follows."""
    return re.compile("|".join(re.escape(name).replace(r"\*", ".*") for name in names.split()))


def assigns(name: str, value: Value) -> list[Outcome]:
    """What to say about a variable that is set for a command or for good."""
    if name.startswith("HIST"):
        return [hit("hides-tracks", name)]
    steering, harmless, _, _ = _told()
    if name in harmless or (value.known and f"{name}={value.text}" in harmless) or not steering.fullmatch(name):
        return []
    if name.startswith("BASH_FUNC_"):
        return [hit("steers-shell", name), InnerScript(f"f {value.text}")]
    if value.process or name in ("BASH_CMDS", "BASH_ALIASES", "GIT_CONFIG_PARAMETERS") or _names_setting(name, value):
        return [hit("hidden-code", name)]
    text = value.text.lstrip("|-")
    runs = value.known and (" " in value.text or _PROGRAM.search(name))
    return [hit("steers-shell", name), *([InnerScript(text), started(text)] if runs and text else [])]


def _names_setting(name: str, value: Value) -> bool:
    """One of git's, that may start something."""
    return name.startswith("GIT_CONFIG_KEY_") and not (value.known and _told()[2].fullmatch(value.text.lower()))


def steers(name: str) -> bool:
    """Whether a variable of that name is asked about when it is set to whatever value."""
    return bool(assigns(name, Value("", known=False)))


def setting(key: str, value: Value) -> list[Outcome]:
    """What to say about a setting of git's."""
    if value.known and _told()[2].fullmatch(key.lower()):
        return []
    if key.lower().endswith("pager") and value.text in ("cat", "less", ""):
        return []
    text = value.text.removeprefix("!")
    if key.lower().startswith("alias.") and not value.text.startswith("!"):
        text = "git " + text
    return [hit("steers-shell", key), *([InnerScript(text), started(text)] if text else [])]
