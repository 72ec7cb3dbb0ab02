"""Clones of git repositories for sessions: one mirror of each on this machine, one clone of that for each session.

Git asks the remote with what it has on this machine: its settings, credential helpers, an agent for SSH. Nothing of
that goes into a clone, which a jail may see: there the remote is an address alone.
"""

import hashlib
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from openagent.filesystem.locks import holding
from openagent.protocol.errors import OpenAgentError
from openagent.workspace.git import require_git
from openagent.workspace.snapshots import safe_name

FETCHED_WITHIN = 900.0
_PROTOCOLS = "file:git:http:https:ssh"
_BASES = "refs/openagent/bases"
_CREDENTIALS = re.compile(r"//[^/\s@]+@")
_NAME = re.compile(r"[^A-Za-z0-9_.-]+")


class Made(NamedTuple):
    base: str
    """The commit that it begins from."""
    branch: str
    """Empty: none is checked out."""


class Clones:
    """Everything here blocks."""

    def __init__(
        self, mirrors: Path, allowed: Callable[[], Sequence[str]], env: Callable[[], Mapping[str, str]]
    ) -> None:
        """`allowed`: the addresses that may be cloned, `*` in them for anything."""
        self._mirrors = mirrors
        self._allowed = allowed
        self._env = env

    def check(self, repository: str) -> None:
        if _has_password(repository):
            raise OpenAgentError(
                "invalid_argument",
                "The address of the repository holds a password or a token, which agents would see.",
                hint="Leave it out, and let git on the workers know it: a credential helper, or a key for SSH.",
            )
        allowed = self._allowed()
        if repository.startswith("-") or not any(fnmatchcase(repository, pattern) for pattern in allowed):
            raise OpenAgentError(
                "permission_denied",
                f"The workers are not allowed to clone {repository[:200]!r}.",
                hint="team.repositories in the settings names the addresses that sessions may be started for.",
            )

    def place(self, below: Path, repository: str, session: str) -> Path:
        name = _NAME.sub("-", repository.rstrip("/").rpartition("/")[2].removesuffix(".git")).strip(".-")
        return below / f"{name or 'clone'}-{safe_name(session)}"

    def make(self, repository: str, branch: str, at: Path) -> Made:
        """With its files."""
        mirror = self.mirror(repository)
        wanted = ["--branch", branch] if branch else []
        if branch.startswith("-"):
            raise OpenAgentError("invalid_argument", f"{branch[:100]!r} cannot be a branch.")
        at.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._git("clone", "-q", "--local", "--template=", *wanted, "--", str(mirror), str(at))
            self._git("remote", "set-url", "origin", repository, at=at)
            base = self._git("rev-parse", "HEAD^{commit}", at=at).strip()
            branch = self._git("branch", "--show-current", at=at).strip()
        except BaseException:
            shutil.rmtree(at, ignore_errors=True)
            raise
        self._git("update-ref", f"{_BASES}/{base}", base, at=mirror)
        return Made(base, branch)

    def make_again(self, repository: str, branch: str, base: str, at: Path) -> None:
        """As it was when it was made, whatever became of its branch since."""
        mirror = self.mirror(repository, needs=base)
        at.parent.mkdir(parents=True, exist_ok=True)
        self._git("clone", "-q", "--local", "--template=", "--no-checkout", "--", str(mirror), str(at))
        self._git("remote", "set-url", "origin", repository, at=at)
        self._git("checkout", "-q", *(("-B", branch) if branch else ("--detach",)), base, at=at)

    def objects(self, repository: str) -> Path:
        return self._place(repository) / "objects"

    def mirror(self, repository: str, *, needs: str = "") -> Path:
        """As the remote is now; without the remote, as it was, if `needs` is in it."""
        mirror = self._place(repository)
        self._mirrors.mkdir(mode=0o700, parents=True, exist_ok=True)
        busy = OpenAgentError("busy", f"{repository} is being fetched.", hint="Try again when it is done.")
        with holding(mirror.with_suffix(".lock"), seconds=FETCHED_WITHIN, otherwise=busy):
            if not (mirror / "HEAD").exists():
                self._first(repository, mirror)
            elif not needs or not self._has(mirror, needs):
                heads = ("+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*")
                self._git("fetch", "-q", "--", repository, *heads, at=mirror)
            if needs and not self._has(mirror, needs):
                self._git("fetch", "-q", "--", repository, needs, at=mirror)
            if needs:
                self._git("update-ref", f"{_BASES}/{needs}", needs, at=mirror)
        return mirror

    def _first(self, repository: str, mirror: Path) -> None:
        beside = mirror.with_suffix(".new")
        shutil.rmtree(beside, ignore_errors=True)
        try:
            self._git("clone", "-q", "--bare", "--template=", "--", repository, str(beside))
            beside.rename(mirror)
        finally:
            shutil.rmtree(beside, ignore_errors=True)

    def _has(self, mirror: Path, commit: str) -> bool:
        return self._run("cat-file", "-e", f"{commit}^{{commit}}", at=mirror).returncode == 0

    def _place(self, repository: str) -> Path:
        return self._mirrors / f"{hashlib.sha256(repository.encode()).hexdigest()[:24]}.git"

    def _git(self, *arguments: str, at: Path | None = None) -> str:
        done = self._run(*arguments, at=at)
        if done.returncode:
            said = _CREDENTIALS.sub("//", done.stderr.decode("utf-8", "backslashreplace").strip())[:500]
            raise OpenAgentError(
                "tool_error",
                f"git {arguments[0]} failed: {said or 'it said nothing'}",
                hint="Check the address and the branch, and that git on the worker may read the repository.",
            )
        return done.stdout.decode()

    def _run(self, *arguments: str, at: Path | None) -> subprocess.CompletedProcess[bytes]:
        own = {
            name: value
            for name, value in self._env().items()
            if not name.startswith("GIT_") or name == "GIT_SSH_COMMAND"
        }
        env = {
            "GIT_SSH_COMMAND": "ssh -oBatchMode=yes",
            **own,
            "LC_ALL": "C",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_ALLOW_PROTOCOL": _PROTOCOLS,
        }
        try:
            return subprocess.run(
                [require_git(), "-c", "core.hooksPath=/dev/null", *arguments],
                env=env,
                cwd=at or self._mirrors,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                check=False,
                timeout=FETCHED_WITHIN,
            )
        except subprocess.TimeoutExpired:
            raise OpenAgentError("busy", f"git {arguments[0]} took longer than {FETCHED_WITHIN:g} seconds.") from None


def _has_password(repository: str) -> bool:
    try:
        parts = urlsplit(repository)
        return parts.password is not None or (parts.scheme in ("http", "https") and parts.username is not None)
    except ValueError:
        return True
