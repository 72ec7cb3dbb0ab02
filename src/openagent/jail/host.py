"""No jail: commands run as the person who started the daemon. Only by explicit choice."""

import asyncio
import functools
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from openagent.filesystem.handles import LINUX
from openagent.jail.certificates import find_certificates
from openagent.jail.shell import PersistentShell
from openagent.jail.shell_enclosure import EnclosurePlan, Launch, ProcessEnclosure
from openagent.jail.shell_state import kept_directory, make_plain
from openagent.jail.terminal import TERMINAL_ENV, PtyProcess, start_on_terminal
from openagent.jail.walls import home_directories
from openagent.plugins.jail import AskHost, BackgroundCommand, ProgramPlaces
from openagent.protocol.errors import OpenAgentError

_PASSED_ON = frozenset(
    ("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TZ", "TMPDIR", "SSH_AUTH_SOCK", "XDG_RUNTIME_DIR")
)
"""Of the daemon's environment. API keys are not among them."""

_OLDEST_BASH = (4, 4)
"""macOS has 3.2, which cannot tell what a command left in it."""
_SET_CHILD_SUBREAPER = 36
_ADOPT_ORPHANS = (
    f"import ctypes,os,sys;ctypes.CDLL(None).prctl({_SET_CHILD_SUBREAPER},1,0,0,0);os.execvp(sys.argv[1],sys.argv[1:])"
)
"""Daemons that a command starts stay below the shell's process, where they can be found and ended. Linux alone can do
that; elsewhere one that leaves the shell's process group, too, is not found (`processes`)."""


def _launch(_pipes: Path) -> Launch:
    return Launch((sys.executable, "-ISc", _ADOPT_ORPHANS) if LINUX else ())


@functools.cache
def _bash_version(bash: str) -> tuple[int, ...]:
    words = (bash, "--noprofile", "--norc", "-c", 'echo "${BASH_VERSINFO[@]:0:2}"')
    told = subprocess.run(words, capture_output=True, text=True, check=False, env={}).stdout
    return tuple(map(int, told.split()))


def _check_bash() -> None:
    bash = shutil.which("bash")
    if bash is None:
        raise OpenAgentError("jail_error", "There is no bash on PATH.", hint="Install bash.")
    if (found := _bash_version(bash)) < _OLDEST_BASH:
        raise OpenAgentError(
            "jail_error",
            f"{bash} is bash {'.'.join(map(str, found)) or '(of no known version)'}; the shell needs 4.4 or newer.",
            hint="Install a newer one (`brew install bash` on macOS) and put it first on PATH.",
        )


class HostJail:
    kind = "host"

    def __init__(
        self,
        *,
        env: Mapping[str, str] | None = None,
        background_after: float | None = None,
        log_dir: Path | None = None,
        on_background_end: Callable[[str, BackgroundCommand], None] | None = None,
    ) -> None:
        self._env = dict(env or {})
        self._background_after = background_after
        self._log_dir = log_dir
        self._on_background_end = on_background_end

    async def open(self, session: str, workspace: Path) -> PersistentShell:
        await asyncio.to_thread(_check_bash)
        plan = EnclosurePlan(_launch, self._environment())
        return PersistentShell(
            functools.partial(ProcessEnclosure, plan),
            str(workspace),
            background_after=self._background_after,
            log_dir=self._log_dir / session if self._log_dir is not None else None,
            on_background_end=functools.partial(self._on_background_end, session) if self._on_background_end else None,
        )

    async def start_process(
        self,
        workspace: Path,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        ask: AskHost | None = None,
        read_only: bool = False,
        places: ProgramPlaces = ProgramPlaces(),  # noqa: B008
    ) -> asyncio.subprocess.Process:
        """A program of its own, an MCP server for one; its three streams are pipes. Nothing here could ask."""
        if read_only:
            raise _no_walls()
        return await asyncio.create_subprocess_exec(
            *argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**self._environment(), **(env or {})},
            cwd=places.cwd or workspace,
            start_new_session=True,
        )

    async def open_terminal(
        self, workspace: Path, columns: int, rows: int, *, ask: AskHost | None = None, read_only: bool = False
    ) -> PtyProcess:
        if read_only:
            raise _no_walls()
        env = {**self._environment(), **TERMINAL_ENV}
        return await start_on_terminal(("bash", "-i"), env=env, cwd=str(workspace), size=(columns, rows))

    def _environment(self) -> dict[str, str]:
        inherited = {name: value for name, value in os.environ.items() if name in _PASSED_ON or name.startswith("LC_")}
        trusted = find_certificates(os.environ, home_directories()).env
        own = {"TERM": "dumb", "PAGER": "cat", "GIT_PAGER": "cat"}
        return {"LANG": "C.UTF-8", **inherited, **trusted, **own, **self._env}

    def kept_directory(self, session: str) -> str | None:
        return kept_directory(self._log_dir / session) if self._log_dir is not None else None

    def forget(self, session: str, may_keep: Callable[[str], bool]) -> bool:
        return self._log_dir is not None and make_plain(self._log_dir / session, may_keep)

    def describe(self) -> str:
        return "host, not jailed"


def _no_walls() -> OpenAgentError:
    return OpenAgentError(
        "jail_error",
        "In plan mode nothing may be written, and without a jail nothing would keep a program from it.",
        hint='Choose another mode, or `[jail] kind = "bwrap"`.',
    )
