"""Blobs in a folder: on a volume that all daemons of a team have."""

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from openagent.filesystem.atomic_files import replace_file
from openagent.plugins.blobs import Blobs
from openagent.protocol.errors import OpenAgentError


class BlobFolder:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self, name: str) -> bytes | None:
        try:
            return (self._folder / name).read_bytes()
        except FileNotFoundError:
            return None

    def write(self, name: str, data: bytes) -> None:
        replace_file(self._made(name), data)

    def put(self, name: str, file: Path) -> None:
        place = self._made(name)
        beside = place.with_name(f".{place.name}.{os.getpid()}")
        try:
            shutil.copyfile(file, beside)
            beside.replace(place)
        finally:
            beside.unlink(missing_ok=True)

    def fetch(self, name: str, to: Path) -> None:
        try:
            shutil.copyfile(self._folder / name, to)
        except FileNotFoundError:
            raise OpenAgentError("not_found", f"There is no {name} in {self._folder}.") from None

    def remove(self, name: str) -> None:
        (self._folder / name).unlink(missing_ok=True)

    def names(self, folder: str) -> list[str]:
        found = (self._folder / folder).rglob("*")
        return sorted(str(each.relative_to(self._folder)) for each in found if each.is_file())

    def _made(self, name: str) -> Path:
        place = self._folder / name
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        return place


if TYPE_CHECKING:

    def type_check(folder: BlobFolder) -> None:
        _: Blobs = folder
