"""What of a home goes into a backup, under which name, and where it belongs again.

Left out is what can be made or fetched anew (indexes, models, libraries, logs), copies of workspaces, and the owner's
token, which a new home makes itself.
"""

import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from openagent.config.project import RULES
from openagent.protocol import locations

DATABASE = "database"
VAULT = "vault.sealed"
_CONFIG = "config"
_DATA = "data"
_OF_THE_DATA = ("trusted.json", "not-trusted.json", "tasks")
CHECKPOINTS = "checkpoints"
_LARGEST = 16 * 1024 * 1024
"""Of a file beside the settings: what is larger is no setting."""


class Home:
    def __init__(self, env: Mapping[str, str]) -> None:
        self.data = Path(locations.data_home(env))
        self._settings = Path(locations.config_file(env))
        self._alone = bool(env.get("OPENAGENT_CONFIG"))
        """The settings are a file that was named, and its folder may hold anything."""

    def gather(self, into: Path) -> dict[str, Path]:
        """Copies of the small files, which may change while the archive is written; by their names in it."""
        found: dict[str, Path] = {}
        for name, path in (*self._of_settings(), *self._of_data()):
            copy = into / name
            copy.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            try:
                shutil.copyfile(path, copy, follow_symlinks=True)
            except OSError:  # gone meanwhile, or nobody's to read
                continue
            found[name] = copy
        return found

    def gather_checkpoints(self, into: Path) -> dict[str, Path]:
        found: dict[str, Path] = {}
        for path in _files(self.data / CHECKPOINTS):
            name = f"{_DATA}/{path.relative_to(self.data).as_posix()}"
            copy = into / name
            copy.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            try:
                shutil.copyfile(path, copy)
            except OSError:
                continue
            found[name] = copy
        return found

    def checkpoint_bytes(self) -> int:
        return sum(_size(path) for path in _files(self.data / CHECKPOINTS))

    def place(self, name: str) -> Path | None:
        """Where a file of an archive belongs; None for what is no file of a home."""
        top, _, rest = name.partition("/")
        if top == _DATA and rest.partition("/")[0] in (*_OF_THE_DATA, CHECKPOINTS):
            return self.data / rest
        if top == _CONFIG and rest:
            return self._settings if rest == "config.toml" else self._settings.parent / rest
        return None

    def _of_settings(self) -> Iterator[tuple[str, Path]]:
        if self._alone:
            rules = self._settings.with_name(RULES)
            yield from (
                (name, path)
                for name, path in ((f"{_CONFIG}/config.toml", self._settings), (f"{_CONFIG}/{RULES}", rules))
                if path.is_file()
            )
            return
        for path in _files(self._settings.parent):
            if _size(path) <= _LARGEST:
                yield f"{_CONFIG}/{path.relative_to(self._settings.parent).as_posix()}", path

    def _of_data(self) -> Iterator[tuple[str, Path]]:
        for name in _OF_THE_DATA:
            path = self.data / name
            for each in [path] if path.is_file() else _files(path):
                yield f"{_DATA}/{each.relative_to(self.data).as_posix()}", each


def _files(folder: Path) -> Iterator[Path]:
    for place, _folders, names in os.walk(folder):
        for name in sorted(names):
            path = Path(place, name)
            if path.is_file():
                yield path


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
