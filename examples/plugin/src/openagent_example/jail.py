"""A jail opens shells. This one has no walls: it only shows the shape, and starts bash for every command."""

import asyncio
import os
import signal
import time
from pathlib import Path

from openagent.plugins.jail import BackgroundCommand, CommandResult, OnOutput, OutputStream
from openagent.plugins.loading import JailOptions
from openagent.protocol.errors import OpenAgentError

_MAX = 200_000
_STATE = '\n__code=$?; { declare -px; echo "cd $(printf %q "$PWD")"; } > "$__state"; exit $__code'


class PlainShell:
    def __init__(self, workspace: Path, state: Path) -> None:
        self.directory = str(workspace)
        self._state = state
        state.parent.mkdir(parents=True, exist_ok=True)

    async def run(
        self,
        command: str,
        *,
        timeout: float | None = None,
        on_output: OnOutput | None = None,
        cwd: str | None = None,
        interactive: bool = False,
        merged: bool = False,
    ) -> CommandResult:
        began = time.monotonic()
        before = f'[ -f "$__state" ] && . "$__state" 2>/dev/null\ncd {cwd or self.directory!r}\n'
        process = await asyncio.create_subprocess_exec(
            "bash",
            "-c",
            before + command + (_STATE if cwd is None else ""),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT if merged else asyncio.subprocess.PIPE,
            cwd=self.directory,
            env={"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "__state": str(self._state)},
            start_new_session=True,
        )
        kept: dict[OutputStream, str] = {"stdout": "", "stderr": ""}

        async def read(name: OutputStream, stream: asyncio.StreamReader | None) -> None:
            while stream is not None and (chunk := await stream.read(65536)):
                text = chunk.decode(errors="replace")
                kept[name] += text[: max(_MAX - len(kept[name]), -1) + 1]
                if on_output is not None:
                    on_output(name, text)

        timed_out = False
        try:
            async with asyncio.timeout(timeout):
                await asyncio.gather(read("stdout", process.stdout), read("stderr", process.stderr))
                await process.wait()
        except TimeoutError:
            timed_out = True
        finally:
            if process.returncode is None:
                os.killpg(process.pid, signal.SIGKILL)
                await process.wait()
        if cwd is None and self._state.exists():
            line = self._state.read_text().rstrip("\n").rpartition("\n")[2]
            self.directory = line.removeprefix("cd ") or self.directory
        return CommandResult(
            exit_code=None if timed_out else process.returncode,
            stdout=kept["stdout"][:_MAX],
            stderr=kept["stderr"][:_MAX],
            duration_ms=(time.monotonic() - began) * 1000,
            timed_out=timed_out,
            truncated=max(map(len, kept.values())) > _MAX,
        )

    def send_input(self, text: str) -> None:
        raise OpenAgentError("jail_error", "This jail takes no input.")

    def close_input(self) -> None:
        pass

    def background(self) -> list[BackgroundCommand]:
        return []

    def read_background(self, name: str) -> CommandResult:
        raise OpenAgentError("not_found", f"Nothing runs in the background as {name!r}.")

    async def kill_background(self, name: str) -> CommandResult:
        return self.read_background(name)

    async def close(self) -> None:
        self._state.unlink(missing_ok=True)


class PlainJail:
    kind = "plain"

    def __init__(self, options: JailOptions) -> None:
        self._scratch = options.scratch

    async def open(self, session: str, workspace: Path) -> PlainShell:
        return PlainShell(workspace, self._scratch / session / "plain-shell")

    def describe(self) -> str:
        return "plain, no walls"


def make_jail(options: JailOptions) -> PlainJail:
    return PlainJail(options)
