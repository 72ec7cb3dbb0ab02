"""What every Jail must do. A plugin author subclasses `JailContract` and gives it a fixture:

    class TestMyJail(JailContract):
        @pytest.fixture
        def jail(self, tmp_path: Path) -> Jail: ...

and has a fixture `anyio_backend` that says "asyncio". That nothing gets out of it is for its own tests to show.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from openagent.plugins.jail import Jail, Shell


class JailContract:
    pytestmark = pytest.mark.anyio

    @pytest.fixture
    async def shell(self, jail: Jail, tmp_path: Path) -> AsyncIterator[Shell]:
        workspace = tmp_path / "workspace"
        workspace.mkdir(exist_ok=True)
        shell = await jail.open("session", workspace)
        yield shell
        await shell.close()

    def test_it_can_be_named_in_a_few_words(self, jail: Jail) -> None:
        assert jail.kind
        assert 0 < len(jail.describe()) < 80

    async def test_a_command_has_output_and_an_exit_code(self, shell: Shell) -> None:
        result = await shell.run("echo out; echo err >&2; (exit 3)")
        assert (result.exit_code, result.stdout, result.stderr) == (3, "out\n", "err\n")

    async def test_merged_errors_stand_where_they_were_written(self, shell: Shell) -> None:
        result = await shell.run("echo 1; echo 2 >&2; echo 3", merged=True)
        assert (result.stdout, result.stderr) == ("1\n2\n3\n", "")

    async def test_output_is_shown_as_it_comes(self, shell: Shell) -> None:
        heard: list[tuple[str, str]] = []
        await shell.run("echo one; echo two >&2", on_output=lambda stream, text: heard.append((stream, text)))
        assert "".join(text for stream, text in heard if stream == "stdout") == "one\n"
        assert "".join(text for stream, text in heard if stream == "stderr") == "two\n"

    async def test_directory_and_environment_stay(self, shell: Shell) -> None:
        await shell.run("mkdir -p sub && cd sub && export GREETING=hello")
        result = await shell.run('echo "$GREETING from $(basename "$PWD")"')
        assert result.stdout == "hello from sub\n"
        assert shell.directory.endswith("/sub")

    async def test_one_command_may_run_elsewhere(self, shell: Shell) -> None:
        await shell.run("mkdir -p other")
        assert (await shell.run("pwd", cwd=f"{shell.directory}/other")).stdout.endswith("/other\n")
        assert not (await shell.run("pwd")).stdout.endswith("/other\n")

    async def test_files_are_written_in_the_workspace(self, shell: Shell, tmp_path: Path) -> None:
        await shell.run("echo made > made.txt")
        assert (tmp_path / "workspace" / "made.txt").read_text() == "made\n"

    async def test_a_command_that_takes_too_long_is_killed(self, shell: Shell) -> None:
        result = await shell.run("sleep 60", timeout=0.3)
        assert result.timed_out
        assert (await shell.run("echo still here")).stdout == "still here\n"

    async def test_cancelling_kills_the_command(self, shell: Shell) -> None:
        running = asyncio.create_task(shell.run("sleep 60"))
        await asyncio.sleep(0.2)
        began = time.monotonic()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert time.monotonic() - began < 2
        assert (await shell.run("echo still here")).stdout == "still here\n"

    async def test_input_is_empty_unless_asked_for(self, shell: Shell) -> None:
        assert (await shell.run("cat", timeout=5)).stdout == ""

    async def test_long_output_is_bounded(self, shell: Shell) -> None:
        result = await shell.run("head -c 5000000 /dev/zero | tr '\\0' x")
        assert result.truncated
        assert len(result.stdout) < 1_000_000
