"""What the file of a project may set that nobody trusts: a matter of taste, or something stricter."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, cast

from msgspec import Struct

from openagent.config.settings import JailSettings, LimitSettings, Settings
from openagent.config.source import KeyPath, dotted
from openagent.protocol.sessions import MODES

Trusted = Callable[[Path], bool]
"""Whether what a project's folder says about agents counts."""
_KEYS_SHOWN = 12
_KEY_LENGTH = 60


class Parted(Struct, frozen=True):
    kept: dict[str, Any]
    left_out: list[KeyPath]


def nothing_trusted(_folder: Path) -> bool:
    return False


def part_document(document: Mapping[str, Any]) -> Parted:
    """By the keys alone, before anything is made of the values: they are not even expanded."""
    return _part(document, (), lambda path, _: path[0] in ("context", "limits") or path in (("mode",), _DISABLED_TOOLS))


def part_values(values: Mapping[str, Any], without: Mapping[str, Any]) -> Parted:
    """By what the values are beside those that hold without the project."""

    def stricter(path: KeyPath, value: Any) -> bool:
        if path == ("mode",):
            jail: Mapping[str, Any] = without.get("jail", {})
            usual = Settings(jail=JailSettings(kind=jail.get("kind", JailSettings().kind))).usual_mode
            return MODES.index(value) < MODES.index(without.get("mode") or usual)
        if path[0] == "limits":
            limits: Mapping[str, Any] = without.get("limits", {})
            limit = limits.get(str(path[1]), getattr(LimitSettings(), str(path[1])))
            return limit is None or value < limit
        return True

    return _part(values, (), stricter)


def left_out_note(file: Path, folder: Path, keys: list[KeyPath]) -> str:
    named = [f"`{_shown(dotted(key))}`" for key in keys[:_KEYS_SHOWN]]
    if more := len(keys) - len(named):
        named.append(f"{more} more")
    left_out = f"{', '.join(named[:-1])} and {named[-1]} are" if len(named) > 1 else f"{named[0]} is"
    return f"{file}: {left_out} left out, {distrust(folder)}"


def distrust(folder: Path) -> str:
    """The end of a sentence about something left out."""
    return (
        "because the folder is not trusted, or has changed since it was. "
        f"Read what it says, then run `openagent trust {folder}`."
    )


_DISABLED_TOOLS = ("tools", "disabled")


def _part(table: Mapping[str, Any], path: KeyPath, keep: Callable[[KeyPath, Any], bool]) -> Parted:
    kept: dict[str, Any] = {}
    left_out: list[KeyPath] = []
    for key, value in table.items():
        where = (*path, key)
        if isinstance(value, dict):
            inside = _part(cast("dict[str, Any]", value), where, keep)
            left_out += inside.left_out
            if inside.kept:
                kept[key] = inside.kept
        elif keep(where, value):
            kept[key] = value
        else:
            left_out.append(where)
    return Parted(kept, left_out)


def _shown(key: str) -> str:
    """A stranger chose the name."""
    plain = "".join(character if character.isprintable() else "�" for character in key)
    return plain if len(plain) <= _KEY_LENGTH else plain[:_KEY_LENGTH] + "…"
