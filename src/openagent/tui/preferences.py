"""What a person chose about this program itself, kept beside their settings."""

import contextlib
from collections.abc import Mapping
from pathlib import Path

import msgspec
from msgspec import Struct

from openagent.filesystem.atomic_files import replace_file
from openagent.protocol import locations

FILE = "tui.json"
THEMES = ("dark", "light")


class Preferences(Struct, frozen=True, omit_defaults=True):
    theme: str = "auto"
    """dark or light; anything else: as the terminal's ground"""
    vim: bool = False
    alerts: bool = True
    """A bell, and a note of the desktop where the terminal shows one, when something waits or ends and nobody looks."""


def _file(env: Mapping[str, str]) -> Path:
    return Path(locations.config_file(env)).parent / FILE


def load(env: Mapping[str, str]) -> Preferences:
    """A file that cannot be read counts as none: it holds nothing worth a complaint."""
    kept = Preferences()
    with contextlib.suppress(OSError, msgspec.MsgspecError):
        kept = msgspec.json.decode(_file(env).read_bytes(), type=Preferences)
    if theme := env.get("OPENAGENT_THEME"):
        kept = msgspec.structs.replace(kept, theme=theme)
    if vim := env.get("OPENAGENT_VIM"):
        kept = msgspec.structs.replace(kept, vim=vim not in ("0", "false", "off"))
    if alerts := env.get("OPENAGENT_ALERTS"):
        kept = msgspec.structs.replace(kept, alerts=alerts not in ("0", "false", "off"))
    return kept


def save(env: Mapping[str, str], preferences: Preferences) -> None:
    file = _file(env)
    with contextlib.suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        replace_file(file, msgspec.json.encode(preferences), flush=False)
