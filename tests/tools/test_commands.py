"""shell, shell_output, execute_code and git, in a real shell."""

import asyncio
import shutil
from pathlib import Path

import pytest

from openagent.jail.host import HostJail
from openagent.tools.execute_code import execute_code
from openagent.tools.git import git
from openagent.tools.read_file import read_file
from openagent.tools.scratch import INLINE_BYTES
from openagent.tools.shell import shell
from openagent.tools.shell_output import shell_output

from .bench import Bench

pytestmark = pytest.mark.anyio


async def test_output_exit_code_and_errors_come_back_and_stream(bench: Bench) -> None:
    outcome = await bench.run(shell, command="echo out; echo err >&2; exit_with() { return 3; }; exit_with")
    assert outcome.text == "out\nerr\n[exit code 3]"
    assert (outcome.is_error, outcome.display.exit_code) == (True, 3)
    assert "".join(bench.streamed) == "out\nerr\n"
    assert await bench.text(shell, command="true") == "[no output]"


async def test_a_command_that_takes_too_long_is_killed(bench: Bench) -> None:
    said = await bench.refusal(shell, command="echo begun; sleep 60", timeout=0.2)
    assert said.startswith("begun\n[killed after 0.2 s]\n[openagent: the shell goes on in ")


@pytest.mark.parametrize("timeout", [-5, 0, 1e9, float("inf"), float("nan")])
async def test_a_timeout_that_cannot_be_meant_is_refused(bench: Bench, timeout: float) -> None:
    for tool, given in ((shell, {"command": "touch ran"}), (execute_code, {"language": "bash", "code": "touch ran"})):
        assert "The timeout must be more than 0" in await bench.refusal(tool, **given, timeout=timeout)
    assert not (bench.workspace / "ran").exists()


async def test_an_exit_that_nobody_saw_is_no_success(bench: Bench) -> None:
    said = await bench.refusal(shell, command="builtin() { :; }")
    assert "[exit code unknown]\n[openagent: the command made its shell deaf" in said


@pytest.mark.parametrize("lines", [4_000, 200_000])
async def test_long_output_stays_within_bounds_and_can_be_paged_through(bench: Bench, lines: int) -> None:
    text = await bench.text(shell, command=f"seq 1 {lines}")
    assert len(text) <= INLINE_BYTES
    assert text.startswith("1\n2\n")
    assert text.endswith(f"\n{lines}")
    name = text.split("read_file ")[1].split()[0]
    middle = lines // 2
    page = await bench.text(read_file, path=name, start=middle, lines=2)
    assert page == f"{middle}\t{middle}\n{middle + 1}\t{middle + 1}\n[lines {middle} to {middle + 1} of {lines}]"
    assert not list(bench.scratch.glob("*.log"))


async def test_commands_in_the_background_are_listed_read_and_killed(bench: Bench) -> None:
    bench.jail = HostJail(log_dir=bench.scratch, background_after=0.2)
    assert await bench.text(shell_output) == "No command is in the background."
    text = await bench.text(shell, command="seq 1 50000; sleep 60")
    name = text.split("background as ")[1].partition("]")[0]
    assert "\n[still running in the background as bg1]\n[openagent: the shell goes on in " in text
    assert (await bench.text(shell_output)).startswith(f"{name}\trunning\t")
    async with asyncio.timeout(20):
        while "\n50000\n" not in (text := await bench.text(shell_output, id=name)):
            await asyncio.sleep(0.01)
    kept = text.split("read_file ")[1].split()[0]
    assert (await bench.text(read_file, path=kept, start=-1)).startswith("50000\t50000")
    assert (await bench.text(shell_output, id=name, action="kill")).startswith(f"Killed {name}.\n1\n2\n")
    assert f"{name}\tkilled" in await bench.text(shell_output)
    assert "no background command 'bg99'" in await bench.refusal(shell_output, id="bg99")


@pytest.mark.parametrize(
    ("language", "interpreter", "code"),
    [
        ("python", "python3", "import sys, helper\nprint(helper.VALUE, sys.argv[1:])\n"),
        ("javascript", "node", "console.log('it’s', [])"),
        ("bash", "bash", "set -- []\necho 'it’s' $1"),
        ("elixir", "elixir", 'IO.puts("it’s []")'),
    ],
)
async def test_code_runs_where_its_language_is_installed(
    bench: Bench, language: str, interpreter: str, code: str
) -> None:
    bench.write("helper.py", "VALUE = 'it’s'")
    outcome = await bench.run(execute_code, language=language, code=code)
    if shutil.which(interpreter):
        assert outcome.text == "it’s []"
    else:
        assert outcome.text == f"{language} is not installed here."
    assert [name.name for name in bench.workspace.iterdir() if name.name != "__pycache__"] == ["helper.py"]


async def test_code_that_fails_shows_its_traceback_and_leaves_the_shell_alone(bench: Bench, tmp_path: Path) -> None:
    bench.jail = HostJail(env={"TMPDIR": str(tmp_path)})
    told = await bench.refusal(execute_code, language="python", code="x = 1\nraise SystemExit(x + 6)")
    assert told == "[exit code 7]"
    assert "ValueError: EOF" in await bench.refusal(execute_code, language="python", code="raise ValueError('EOF')")
    assert await bench.refusal(execute_code, language="bash", code="cd /; exit 4") == "[exit code 4]"
    assert await bench.text(shell, command="pwd") == str(bench.workspace)
    assert not list(tmp_path.glob("tmp.*"))


async def test_git_works_with_arguments_that_need_quoting(bench: Bench) -> None:
    await bench.text(git, subcommand="init", args=["-q", "-b", "main"])
    for key, value in (("user.name", "A B"), ("user.email", "a@b.c")):
        await bench.text(git, subcommand="config", args=[key, value])
    bench.write("it's; $(touch pwned) a.txt", "x\n")
    await bench.text(git, subcommand="add", args=["it's; $(touch pwned) a.txt"])
    await bench.text(git, subcommand="commit", args=["-q", "-m", "it's `touch pwned`\n\n$(touch pwned)"])
    assert "it's `touch pwned`" in await bench.text(git, subcommand="log", args=["--oneline"])
    assert await bench.text(git, subcommand="status", args=["--short"]) == "[no output]"
    assert not (bench.workspace / "pwned").exists()
    assert "[exit code 128]" in await bench.refusal(git, subcommand="show", args=["nothing"])
    assert "bisect" in (git.check({"subcommand": "bisect"}) or "")


def test_a_git_call_is_one_line_and_reads_only_where_it_surely_does() -> None:
    assert git.summarize({"subcommand": "commit", "args": ["-m", "two words"]}) == "git commit -m 'two words'"
    assert git.effect_of({"subcommand": "log", "args": ["-3"]}) == "read"
    assert git.effect_of({"subcommand": "diff", "args": ["--output=x"]}) == "execute"
    assert git.effect_of({"subcommand": "commit"}) == "execute"
    assert git.effect_of({"subcommand": [], "args": 7}) == "execute"
