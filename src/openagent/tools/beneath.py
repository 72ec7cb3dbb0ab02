"""Opening what a model names, beneath one directory and never outside it, with the words for what is refused."""

import errno
import os
from pathlib import Path
from types import TracebackType
from typing import Self

from openagent.filesystem.handles import FOLDER_HANDLE, HANDLE, NEEDS_NO_RIGHTS, path_of
from openagent.filesystem.resolving import EscapeError, Place, open_beneath, path_below, place_beneath
from openagent.plugins.places import still_there
from openagent.plugins.tool import ToolContext
from openagent.protocol.errors import OpenAgentError

_PACKAGE_STORES = frozenset((".pnpm", ".store", ".venv", ".yarn"))
"""Hidden, harmless, and full of links that lead into them."""


def root_of(context: ToolContext, *paths: str) -> "Root":
    """Where these paths lie: in the workspace, or in a folder outside that was let in for this call. Raises later, when
    they are used and lie elsewhere."""
    named = [real_name(context.workspace, os.path.expanduser(path)) for path in paths] if context.folders else []
    for folder in context.folders:
        if named and all(path_below(path, str(folder)) is not None for path in named):
            return Root(folder, outside_of=context.workspace)
    return Root(context.workspace)


def real_name(workspace: Path, given: str) -> str:
    """By where its folder really is."""
    folder, name = os.path.split(os.path.normpath(os.path.join(workspace, given)))
    return os.path.join(os.path.realpath(folder), name)


class Root:
    """A directory. `kernel_resolves=False` leaves out openat2, as a kernel without it does.

    `outside_of` is the workspace, when the directory is another: relative paths start there, and what is found has its
    whole path for a name.
    """

    def __init__(self, directory: Path, *, outside_of: Path | None = None, kernel_resolves: bool = True) -> None:
        self.directory = directory
        self.outside_of = outside_of
        self._kernel_resolves = kernel_resolves
        try:
            self.fd = os.open(directory, FOLDER_HANDLE)
        except OSError as problem:
            raise OpenAgentError(
                "tool_error", f"The workspace {directory} cannot be opened: {problem.strerror}."
            ) from None
        try:
            still_there(directory, path_of(self.fd))
        except BaseException:
            os.close(self.fd)
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self.fd)

    def relative(self, path: str) -> str:
        """The path from the root, by its text alone, as policy reads it. Raises when it lies outside."""
        given = os.path.expanduser(path)
        if "\0" in given:
            raise OpenAgentError("tool_error", f"{path!r} contains a NUL character.")
        if self.outside_of is not None:
            given = real_name(self.outside_of, given)
        if not os.path.isabs(given):
            relative = os.path.normpath(given) if given else "."
        elif (inside := self._inside("/" + os.path.normpath(given).lstrip("/"))) is not None:
            relative = inside
        else:
            raise self._outside(path)
        if relative == ".." or relative.startswith("../"):
            raise self._outside(path)
        return relative

    def open(self, path: str, flags: int) -> int:
        """A descriptor for something that exists. Raises OpenAgentError when the path leads out, OSError otherwise."""
        relative = self.relative(path)
        try:
            fd = open_beneath(self.fd, relative, flags, kernel_resolves=self._kernel_resolves)
        except EscapeError:
            raise self._outside(path) from None
        real = self.beneath(fd)
        if real != relative:
            try:
                _refuse_hidden_target(path, relative, real)
            except OpenAgentError:
                os.close(fd)
                raise
        return fd

    def stat(self, path: str) -> os.stat_result:
        """Raises OSError; FileNotFoundError when there is nothing of that name."""
        if not NEEDS_NO_RIGHTS and self.relative(path) != ".":
            place = self.place(path)
            try:
                return os.stat(place.name, dir_fd=place.directory, follow_symlinks=False)
            finally:
                os.close(place.directory)
        fd = self.open(path, HANDLE)
        try:
            return os.fstat(fd)
        finally:
            os.close(fd)

    def place(self, path: str, *, make_parents: bool = False) -> Place:
        """Where to write. Links that stay inside are followed: the name in the place is none at the time."""
        relative = self.relative(path)
        if relative == ".":
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
        try:
            place = place_beneath(self.fd, relative, make_parents=make_parents)
        except EscapeError:
            raise self._outside(path) from None
        if place.real != relative:
            try:
                _refuse_hidden_target(path, relative, place.real)
            except OpenAgentError:
                os.close(place.directory)
                raise
        return place

    def real(self, fd: int) -> str:
        """What an open file is called: relative to the workspace, or by its whole path outside of it."""
        return self.called(self.beneath(fd))

    def called(self, relative: str) -> str:
        return relative if self.outside_of is None else os.path.normpath(self.directory / relative)

    def beneath(self, fd: int) -> str:
        """Where an open file is, relative to the root."""
        path = path_of(fd)
        return path_below(path, path_of(self.fd)) or path

    def _inside(self, absolute: str) -> str | None:
        found = path_below(absolute, os.path.normpath(self.directory))
        return found if found is not None else path_below(absolute, path_of(self.fd))

    def _outside(self, path: str) -> OpenAgentError:
        return OpenAgentError(
            "tool_error",
            f"{path} is outside the workspace {self.directory}, or leads out of it. File tools work inside it only.",
        )


def _refuse_hidden_target(path: str, relative: str, real: str) -> None:
    """Policy judged the path that was named: a link must not smuggle in .git, .env and their like."""
    unnamed = set(real.split("/")) - {".", *relative.split("/")} - _PACKAGE_STORES
    if any(part.startswith(".") for part in unnamed):
        raise OpenAgentError(
            "tool_error", f"{path} is a link that leads to {real}.", hint="Name that path itself if you mean it."
        )
