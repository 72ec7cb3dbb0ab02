"""Plugins of other programs, copied to where a daemon reads them. Nothing of them is run on the way."""

import os
import shutil
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from openagent.filesystem.plugin_manifests import CLAUDE, read_manifest_file, read_plugin_manifest
from openagent.protocol import locations
from openagent.protocol.errors import OpenAgentError

MARKET = Path(".claude-plugin", "marketplace.json")
MAX_FILES = 5000
MAX_BYTES = 100 << 20
_LEFT = (".git", "node_modules", "__pycache__", ".venv")


def install_plugin(folder: Path, wanted: str = "", *, replace: bool = False) -> str:
    """Its name. Raises OpenAgentError."""
    if (folder / MARKET).is_file() and (wanted or not (folder / CLAUDE).is_file()):
        folder = _of_market(folder, wanted)
    try:
        name = read_plugin_manifest(folder).name
    except ValueError as problem:
        raise _wrong(str(problem), "Name the folder of a plugin, or correct it.") from None
    _check(folder)
    target = _place(name)
    if target.exists():
        if not replace:
            raise OpenAgentError("conflict", f"There is already a plugin {name!r}.", hint="Add --replace.")
        shutil.rmtree(target)
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    shutil.copytree(folder, target, ignore=shutil.ignore_patterns(*_LEFT), symlinks=False)
    return name


def remove_plugin(name: str) -> None:
    target = _place(name)
    if not name or "/" in name or name.startswith(".") or not target.is_dir():
        raise OpenAgentError("not_found", f"There is no plugin {name!r}.", hint="`openagent plugins list` shows them.")
    shutil.rmtree(target)


def _place(name: str) -> Path:
    return Path(locations.config_file(os.environ)).parent / "plugins" / name


class _Listed(Struct, frozen=True):
    name: str
    source: Any = None


def _of_market(folder: Path, wanted: str) -> Path:
    """A marketplace's plugin that lies in the same folder: what lies elsewhere is fetched by whoever wants it."""
    try:
        listed = msgspec.convert(read_manifest_file(folder / MARKET).get("plugins", []), list[_Listed])
    except ValueError as problem:
        raise _wrong(f"{folder / MARKET}: {problem}.".replace("..", "."), "Correct it.") from None
    sources = {each.name: each.source for each in listed}
    if wanted not in sources:
        raise _wrong(f"It is a marketplace of {len(sources)} plugins.", f"Choose: --plugin {', '.join(sources)}")
    source = sources[wanted]
    place = (folder / source).resolve() if isinstance(source, str) else None
    if place is None or not place.is_relative_to(folder) or not place.is_dir():
        raise _wrong(f"The plugin {wanted!r} lies elsewhere: {source}.", "Clone it, and install that folder.")
    return place


def _check(folder: Path) -> None:
    count = size = 0
    for here, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name not in _LEFT]
        for name in (*names, *folders):
            path = Path(here, name)
            if path.is_symlink() and not path.resolve().is_relative_to(folder):
                raise _wrong(f"{path} is a link that leads out of the plugin.", "Remove it first.")
            if path.is_file():
                count, size = count + 1, size + path.stat().st_size
        if count > MAX_FILES or size > MAX_BYTES:
            raise _wrong(
                f"{folder} has more than {MAX_FILES} files or {MAX_BYTES >> 20} MB.", "Is it the right folder?"
            )


def _wrong(what: str, hint: str) -> OpenAgentError:
    return OpenAgentError("invalid_argument", what, hint=hint)
