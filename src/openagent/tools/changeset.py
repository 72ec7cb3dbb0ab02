"""Writing files: all of a call's changes or none of them, each in one step, with what was there before kept aside.

A file is always replaced by a new one and never written into: a reader sees the old content or the new, a hard link
elsewhere keeps the old, and a symbolic link that appears at the last moment is replaced rather than followed.
"""

import os
import secrets
import shutil
import stat
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from msgspec import Struct

from openagent.filesystem.beneath import open_file, status_of
from openagent.filesystem.resolving import Place
from openagent.plugins.files_read import GONE, Stamp
from openagent.plugins.tool import ToolContext
from openagent.protocol.errors import OpenAgentError
from openagent.tools.beneath import Root
from openagent.tools.files import explained, not_a_file, stamp_of
from openagent.tools.scratch import keep_newest, private_directory

BACKUPS_KEPT = 200


class Change(Struct, frozen=True):
    path: str
    before: Stamp | None
    """What the change is based on; None when there is no such file."""
    after: bytes | None
    """None deletes the file."""
    mode: int | None = None
    """For a new file that takes another one's place."""


@dataclass
class _Step:
    change: Change
    place: Place
    status: os.stat_result | None
    """Of what is replaced."""
    temporary: str = ""
    written: Stamp | None = None
    """Of what takes its place."""
    backup: Path | None = None
    done: bool = False


def carry_out(context: ToolContext, root: Root, changes: Sequence[Change]) -> None:
    """Raises OpenAgentError with everything as it was."""
    steps: list[_Step] = []
    path = ""
    try:
        for change in changes:
            path = change.path
            steps.append(_prepare(root, change))
            _stage(steps[-1])
        for step in steps:
            path = step.change.path
            _commit(context, step)
    except (OSError, OpenAgentError) as problem:
        _undo(root, steps)
        raise explained(path, problem) if isinstance(problem, OSError) else problem from None
    finally:
        for step in steps:
            os.close(step.place.directory)
    _remember(context, root, steps)


def _prepare(root: Root, change: Change) -> _Step:
    refuse_git(root.called(root.relative(change.path)), change.path)  # before anything is made on the way there
    place = root.place(change.path, make_parents=change.after is not None)
    try:
        refuse_git(root.called(place.real), change.path)
        status = status_of(place.directory, place.name)
        if status is not None and not stat.S_ISREG(status.st_mode):
            raise not_a_file(change.path, status)
        _refuse_changed(change, status)
    except BaseException:
        _remove_made(root, place)
        os.close(place.directory)
        raise
    return _Step(change, place, status)


def refuse_git(real: str, path: str) -> None:
    """The jail's walls, for tools that stand outside it: git runs programs that its own files name."""
    if ".git" in real.lower().split("/"):
        raise OpenAgentError(
            "tool_error",
            f"{path} is git's own: programs that such files name would run outside the jail.",
            hint="Let git change them, or the user.",
        )


def _refuse_changed(change: Change, status: os.stat_result | None) -> None:
    if (stamp_of(status) if status else None) != change.before:
        raise OpenAgentError(
            "conflict",
            f"{change.path} was changed by someone else in this very moment. Nothing was written.",
            hint="Read it again.",
        )


def _stage(step: _Step) -> None:
    content = step.change.after
    if content is None:
        return
    step.temporary = f".{secrets.token_hex(8)}.openagent"
    kept = step.status
    mode = 0o600 if kept else 0o666
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(step.temporary, flags, mode, dir_fd=step.place.directory)
    with os.fdopen(fd, "wb", buffering=0) as file:
        unwritten = memoryview(content)
        while unwritten:
            unwritten = unwritten[file.write(unwritten) :]
        if kept:
            with suppress(PermissionError):
                os.fchown(fd, kept.st_uid, kept.st_gid)
            os.fchmod(fd, stat.S_IMODE(kept.st_mode))
        elif step.change.mode is not None:
            os.fchmod(fd, step.change.mode)
        step.written = stamp_of(os.fstat(fd))


def _commit(context: ToolContext, step: _Step) -> None:
    place = step.place
    _refuse_changed(step.change, status_of(place.directory, place.name))
    if step.status is not None:
        step.backup = _back_up(context, place)
    if step.temporary:
        os.rename(step.temporary, place.name, src_dir_fd=place.directory, dst_dir_fd=place.directory)
    else:
        os.unlink(place.name, dir_fd=place.directory)
    step.done = True


def _back_up(context: ToolContext, place: Place) -> Path:
    directory = private_directory(context.scratch / "backups")
    backup = directory / f"{secrets.token_hex(6)}-{place.name[-100:]}"
    with (
        os.fdopen(open_file(place.directory, place.name), "rb", buffering=0) as old,
        backup.open("xb", buffering=0) as kept,
    ):
        shutil.copyfileobj(old, kept, 1 << 20)
    keep_newest(directory, BACKUPS_KEPT)
    return backup


def _undo(root: Root, steps: Sequence[_Step]) -> None:
    for step in reversed(steps):
        place = step.place
        if step.temporary and not step.done:
            with suppress(FileNotFoundError):
                os.unlink(step.temporary, dir_fd=place.directory)
        elif step.done and step.backup is None:
            with suppress(FileNotFoundError):
                os.unlink(place.name, dir_fd=place.directory)
        elif step.done and step.backup is not None:
            restored = _Step(Change(step.change.path, None, step.backup.read_bytes()), place, step.status)
            _stage(restored)
            os.rename(restored.temporary, place.name, src_dir_fd=place.directory, dst_dir_fd=place.directory)
        _remove_made(root, place)


def _remove_made(root: Root, place: Place) -> None:
    for made in reversed(place.made):
        with suppress(OSError, OpenAgentError):
            parent = root.place(made)
            try:
                os.rmdir(parent.name, dir_fd=parent.directory)
            finally:
                os.close(parent.directory)


def _remember(context: ToolContext, root: Root, steps: Sequence[_Step]) -> None:
    for step in steps:
        if root.outside_of is None:  # checkpoints are of the workspace
            context.wrote(step.place.real)
        context.files_read.wrote(root.called(step.place.real), step.written or GONE, step.change.after)
