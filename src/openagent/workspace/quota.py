"""How much a folder holds, and whether that is too much."""

import os
import stat
from pathlib import Path

from openagent.filesystem.beneath import opened_folder, opened_root
from openagent.plugins.workspace import Quota, WorkspaceUsage
from openagent.protocol.errors import OpenAgentError


def measure(path: Path) -> WorkspaceUsage:
    seen: set[tuple[int, int]] = set()

    def visit(descriptor: int) -> tuple[int, int]:
        size = files = 0
        with os.scandir(descriptor) as entries:
            for entry in list(entries):
                try:
                    status = entry.stat(follow_symlinks=False)
                    if status.st_nlink > 1 and not stat.S_ISDIR(status.st_mode):
                        if (status.st_dev, status.st_ino) in seen:
                            continue
                        seen.add((status.st_dev, status.st_ino))
                    size += status.st_blocks * 512
                    if not stat.S_ISDIR(status.st_mode):
                        files += 1
                        continue
                    with opened_folder(descriptor, os.fsencode(entry.name)) as below:
                        more, others = visit(below)
                    size, files = size + more, files + others
                except OSError:
                    continue
        return size, files

    with opened_root(path) as root:
        size, files = visit(root)
    return WorkspaceUsage(bytes=size, files=files)


def enforce(path: Path, usage: WorkspaceUsage, quota: Quota) -> None:
    for what, used, allowed in (("bytes", usage.bytes, quota.bytes), ("files", usage.files, quota.files)):
        if allowed is not None and used > allowed:
            raise OpenAgentError(
                "workspace_full",
                f"{path} holds {used:,} {what}, and its quota is {allowed:,}.",
                hint="Remove what is not needed, or raise the quota.",
            )
