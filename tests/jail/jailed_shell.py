"""A jailed shell for plain functions, without a daemon.

with JailedShell("project") as shell:
    result = shell.run("make test", timeout=60)
    print(result.exit_code, result.stdout, result.stderr)
"""

import asyncio
import os
from pathlib import Path
from types import TracebackType
from typing import Self

from openagent.jail.bwrap import BwrapJail
from openagent.plugins.jail import CommandResult, Jail, OnOutput, Shell


class JailedShell:
    """For plain functions. Inside a coroutine, open a `BwrapJail` instead."""

    def __init__(self, workspace: str | os.PathLike[str], jail: Jail | None = None) -> None:
        self._workspace = Path(workspace)
        self._jail = jail or BwrapJail()
        self._runner = asyncio.Runner()
        self._shell: Shell | None = None

    def __enter__(self) -> Self:
        try:
            self._shell = self._runner.run(self._jail.open("script", self._workspace))
        except BaseException:
            self._runner.close()
            raise
        return self

    def run(self, command: str, *, timeout: float | None = None, on_output: OnOutput | None = None) -> CommandResult:
        if self._shell is None:
            raise RuntimeError("A JailedShell is used in a `with` block.")
        return self._runner.run(self._shell.run(command, timeout=timeout, on_output=on_output))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        shell, self._shell = self._shell, None
        if shell is not None:
            self._runner.run(shell.close())
        self._runner.close()
