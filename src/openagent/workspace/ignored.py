"""What the workspace's git ignores. Git itself is asked, with nobody's settings."""

import os
import stat
import subprocess
from collections.abc import Collection
from functools import cache
from pathlib import Path
from typing import NamedTuple

from openagent.plugins.worktrees import common_directory, named_by
from openagent.protocol.errors import OpenAgentError
from openagent.workspace.git import run_git
from openagent.workspace.git_state import repository_of

_PATIENCE = 60
"""Seconds. It reads the workspace, where there may be what never ends."""
_SOON = 5.0
"""The same while somebody waits for an answer."""


def ignored_paths(git_dir: Path, workspace: Path) -> list[bytes]:
    """All there are, folders with a slash at the end. By the workspace's own `.gitignore` files and exclude list; files
    its repository tracks do not count."""
    arguments = ["ls-files", "--others", "--ignored", "--directory", "-z", "--exclude-per-directory=.gitignore"]
    excludes = workspace / ".git" / "info" / "exclude"
    if excludes.is_file() and not excludes.is_symlink():
        arguments.append(f"--exclude-from={excludes}")
    extra = {"GIT_WORK_TREE": str(workspace), "GIT_INDEX_FILE": str(_index_of(workspace, git_dir))}
    command = ["-c", "core.bare=false", "-C", os.fsencode(workspace), *arguments]
    try:
        listing = run_git(git_dir, command, extra=extra, timeout=_PATIENCE)
    except subprocess.TimeoutExpired:  # then nothing is left out
        return []
    return [path for path in listing.stdout.split(b"\0") if path]


def _index_of(workspace: Path, git_dir: Path) -> Path:
    """A split index refers to a file beside it, which the private repository does not have: then none is used."""
    index = workspace / ".git" / "index"
    if index.is_file() and not any((workspace / ".git").glob("sharedindex.*")):
        return index
    return git_dir / "no-index"


class _WorkTree(NamedTuple):
    top: Path
    tracked_in: Path | None = None
    excludes: Path = Path(os.devnull)


class Ignored:
    """The same for paths that changed, and may be gone again: git is asked about each once. What cannot be told counts
    as not ignored, so that nobody overlooks it."""

    def __init__(self, git_dir: Path, workspace: Path) -> None:
        self._git_dir = git_dir
        self._workspace = workspace
        self._known: dict[bytes, bool] = {}

    def among(self, paths: Collection[bytes]) -> set[bytes]:
        if new := {path for path in paths if path not in self._known}:
            try:
                found = self._found(new)
            except (OSError, subprocess.TimeoutExpired, OpenAgentError):
                found = set[bytes]()
            self._known.update((path, path in found) for path in new)
        return {path for path in paths if self._known[path]}

    def _found(self, paths: Collection[bytes]) -> set[bytes]:
        tree = _work_tree(self._workspace)
        if tree is None:
            return set()
        found = self._matching(tree, paths)
        if b"" in found:  # by a repository around it, which then says nothing about what is in it
            tree = _WorkTree(self._workspace)
            found = self._matching(tree, paths)
        return found - self._tracked(tree) if found else found

    def _matching(self, tree: _WorkTree, paths: Collection[bytes]) -> set[bytes]:
        """The empty path stands for the workspace itself."""
        root, top = os.fsencode(self._workspace), os.fsencode(tree.top)

        @cache
        def is_plain(folder: bytes) -> bool:
            """Git refuses to look through a link, and at a pipe it would wait for somebody to write into it."""
            if folder != top and (os.path.islink(folder) or not is_plain(os.path.dirname(folder))):
                return False
            try:
                return stat.S_ISREG(os.lstat(folder + b"/.gitignore").st_mode)
            except (FileNotFoundError, NotADirectoryError):
                return True

        plain = [path for path in (b"", *paths) if is_plain(os.path.dirname(root + b"/" + path))]
        given = b"".join(b"./" + path + b"\0" for path in plain)
        if not plain:
            return set()
        said = self._git(tree, "check-ignore", "--no-index", "--stdin", "-z", given=given)
        return {path.removeprefix(b"./") for path in said.split(b"\0")[:-1]}

    def _tracked(self, tree: _WorkTree) -> set[bytes]:
        return set(self._git(tree, "ls-files", "--cached", "-z").split(b"\0")) if tree.tracked_in is not None else set()

    def _git(self, tree: _WorkTree, *arguments: str, given: bytes = b"") -> bytes:
        extra = {"GIT_WORK_TREE": str(tree.top), "GIT_INDEX_FILE": str(tree.tracked_in or self._git_dir / "no-index")}
        settings = ["-c", "core.bare=false", "-c", f"core.excludesFile={tree.excludes}"]
        command = [*settings, "-C", os.fsencode(self._workspace), *arguments]
        return run_git(self._git_dir, command, stdin=given, extra=extra, accept=(0, 1), timeout=_SOON).stdout


def _work_tree(workspace: Path) -> _WorkTree | None:
    """Of the workspace's repository, which may lie around it; the folder alone where there is none. None: what is
    tracked cannot be told."""
    owner = os.stat(workspace).st_uid
    for folder in (workspace, *workspace.parents):
        dot_git = folder / ".git"
        if not os.path.lexists(dot_git) or (folder != workspace and os.lstat(dot_git).st_uid != owner):
            continue
        shared = common_directory(dot_git)
        repository, common = (named_by(dot_git), shared) if shared else (repository_of(folder), dot_git)
        if repository is None or any(repository.glob("sharedindex.*")):
            return None
        excludes = common / "info" / "exclude"
        is_plain = excludes.is_file() and not excludes.is_symlink()
        return _WorkTree(folder, repository / "index", excludes if is_plain else Path(os.devnull))
    return _WorkTree(workspace)
