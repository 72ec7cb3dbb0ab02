"""Folders to work in, for whoever chooses one: `folders.list`."""

import asyncio
import os
from pathlib import Path

from openagent.daemon.connection import Connection
from openagent.daemon.daemon import Handler
from openagent.daemon.folders import no_folder
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.files import Folder, Folders, FoldersList

MOST = 500


class FolderService:
    def __init__(self, home: Path) -> None:
        """`home` is of whoever runs the daemon."""
        self._home = home

    def handlers(self) -> list[Handler]:
        return [FoldersList.handled_by(self._list)]

    async def _list(self, connection: Connection, op: FoldersList) -> Folders:
        return await asyncio.to_thread(self._folders, op.cwd or str(self._home))

    def _folders(self, path: str) -> Folders:
        path = os.path.normpath(path)
        if not os.path.isabs(path) or not os.path.isdir(path):
            raise no_folder(path)
        try:
            with os.scandir(path) as entries:
                names = sorted((each.name for each in entries if _to_show(each)), key=lambda name: name.casefold())
        except OSError as problem:
            raise OpenAgentError(
                "permission_denied", f"{path} cannot be looked into: {problem.strerror}.", hint="Choose another folder."
            ) from None
        return Folders(
            path=path,
            home=str(self._home),
            folders=[Folder(name, inside := os.path.join(path, name), _is_repository(inside)) for name in names[:MOST]],
            parent=os.path.dirname(path) if path != "/" else "",
            repository=_is_repository(path),
            left_out=max(0, len(names) - MOST),
        )


def _to_show(entry: "os.DirEntry[str]") -> bool:
    try:
        return not entry.name.startswith(".") and entry.is_dir()
    except OSError:
        return False


def _is_repository(path: str) -> bool:
    return os.path.exists(os.path.join(path, ".git"))
