"""A command's output, exit code and end, whatever the command does to blur them."""

import asyncio
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openagent.jail.host import HostJail
from openagent.plugins.jail import Jail, OutputStream, Shell
from tests.jail.jailed_shell import JailedShell

pytestmark = pytest.mark.anyio


async def test_stdout_stderr_and_exit_code_come_apart(shell: Shell):
    result = await shell.run("echo out; echo err >&2; (exit 7)")
    assert (result.stdout, result.stderr, result.exit_code) == ("out\n", "err\n", 7)
    assert result.duration_ms > 0


async def test_directory_variables_functions_and_aliases_survive(shell: Shell, workspace: Path):
    (workspace / "sub").mkdir()
    await shell.run(
        "cd sub; export A=1; b=2; declare -A map=([k]=v); f() { echo fn; }; shopt -s expand_aliases; alias hi='echo hi'"
    )
    result = await shell.run("pwd; echo $A $b ${map[k]}; f; hi")
    assert result.stdout == f"{workspace}/sub\n1 2 v\nfn\nhi\n"


async def test_cwd_holds_for_one_command_only(shell: Shell, workspace: Path):
    (workspace / "sub").mkdir()
    assert (await shell.run("pwd; (exit 5)", cwd=str(workspace / "sub"))).exit_code == 5
    assert (await shell.run("pwd")).stdout == f"{workspace}\n"
    missing = await shell.run("echo ran", cwd=str(workspace / "missing"))
    assert missing.exit_code == 1
    assert "ran" not in missing.stdout
    assert "missing" in missing.stderr


@pytest.mark.parametrize(
    ("command", "exit_code"),
    [
        ("exit 3", 3),
        ("exec true", 0),
        ("exec sh -c 'exit 9'", 9),
        ("kill $$; sleep 5", 143),
        ("kill -9 $$", 137),
        ("set -e; false; echo not reached", 1),
        ("set -eu; echo $UNSET_VARIABLE", 1),
        ("trap 'exit 4' EXIT; exit 3", 4),
        ("sleep 100 & exit 6", 6),
    ],
)
async def test_a_command_that_ends_the_shell_has_its_exit_code_and_the_next_finds_a_new_one(
    shell: Shell, workspace: Path, command: str, exit_code: int
):
    (workspace / "sub").mkdir()
    await shell.run("cd sub; export KEPT=yes; f() { echo fn; }")
    result = await shell.run(command)
    assert result.exit_code == exit_code
    assert "not reached" not in result.stdout
    assert "starts anew" in "".join(result.notes)
    after = await shell.run("pwd; echo $KEPT; f")
    assert (after.stdout, after.stderr, after.exit_code) == (f"{workspace}/sub\nyes\nfn\n", "", 0)


@pytest.mark.parametrize(
    ("command", "exit_code", "stdout"),
    [
        ("if; then", 2, ""),
        ('echo "unbalanced', 2, ""),
        ("echo $(", 2, ""),
        ("cat <<END\nno end", 0, "no end\n"),
        ("break; continue; return 3", 2, ""),
        ("exec >&-; echo lost", 1, ""),
        ("exec >&- 2>&-; :", 0, ""),
        ("exec 60>&-; exec 255>&-; echo fds", 0, "fds\n"),
        ("set -x; echo traced", 0, "traced\n"),
        ("set -v; set -o noglob; echo *", 0, "*\n"),
        ("trap 'echo trapped' DEBUG; echo x", 0, "trapped\nx\n"),
        ("trap 'echo $? failed' ERR; false", 1, "1 failed\n"),
        ("readonly R=1; R=2", 1, ""),
        ("eval() { echo fake; }; printf() { echo fake; }; cd() { echo fake; }; echo ok", 0, "ok\n"),
        ("shopt -s expand_aliases; alias builtin=false eval=false printf=false", 0, ""),
        ("IFS=0123456789; PWD=/nowhere; echo fine", 0, "fine\n"),
        ('cat; read x; echo "[$x]"', 0, "[]\n"),
        ("printf 'no newline'", 0, "no newline"),
        ("printf 'a\\000b\\n'", 0, "a\0b\n"),
        ("printf '\\377\\376'", 0, "\ufffd\ufffd"),
        ("(exit 42) | cat; exit_code=${PIPESTATUS[0]}; (exit $exit_code)", 42, ""),
        ("set -- a b; echo $#", 0, "2\n"),
        ("umask 077; ulimit -n 64; echo ok", 0, "ok\n"),
        ("PATH=; echo ok", 0, "ok\n"),
        ("shopt -s extglob nullglob; BASH_ENV=x; POSIXLY_CORRECT=1; echo ok", 0, "ok\n"),
    ],
)
async def test_odd_commands_keep_their_exit_code_and_leave_the_shell_usable(
    shell: Shell, command: str, exit_code: int, stdout: str
):
    result = await shell.run(command, timeout=60)
    assert (result.exit_code, result.stdout) == (exit_code, stdout)
    await shell.run("set +xve +o noglob; trap - DEBUG ERR", timeout=60)
    after = await shell.run("echo still here; (exit 11)", timeout=60)
    assert (after.stdout, after.exit_code) == ("still here\n", 11)


@pytest.mark.parametrize(
    "command",
    [
        "set -n",
        "builtin() { :; }",
        "shopt -s extdebug; trap false DEBUG",
        "script=/proc/$$/fd/255; read -r line < $script; read -r line < $script; read -r -d '' line < $script",
    ],
)
async def test_a_command_that_makes_the_shell_deaf_ends_and_the_next_finds_a_new_one(shell: Shell, command: str):
    async with asyncio.timeout(20):
        await shell.run(command)
        result = await shell.run("echo on")
        if result.exit_code is None:
            result = await shell.run("echo on")
    assert (result.stdout, result.exit_code) == ("on\n", 0)


async def test_output_that_imitates_reports_is_only_output(shell: Shell):
    forged = " ".join(["0" * 32, "R", "0", "/", "0" * 32, "X", "0"])
    result = await shell.run(f"printf '%s\\0' '{forged}' '{'f' * 32} S x'; printf '%s\\0' '{forged}' >&2; (exit 9)")
    assert result.exit_code == 9
    assert forged in result.stdout
    assert forged in result.stderr


async def test_reports_written_to_the_control_pipe_without_its_token_are_ignored(shell: Shell):
    forged = f"{'0' * 32} R 0 /tmp"
    write_everywhere = f"for fd in /proc/$$/fd/*; do printf '%s\\0' '{forged}' > $fd; done 2>/dev/null; (exit 8)"
    assert (await shell.run(write_everywhere, timeout=60)).exit_code == 8
    assert (await shell.run("echo on", timeout=60)).stdout == "on\n"


async def test_a_command_sees_only_its_three_streams_and_no_token(shell: Shell):
    result = await shell.run("ls /proc/self/fd; env; set")
    listed, _, rest = result.stdout.partition("3\n")
    assert listed == "0\n1\n2\n"
    assert "token" not in rest.lower()


async def test_a_background_child_neither_delays_its_command_nor_prints_into_the_next(shell: Shell, workspace: Path):
    started = await shell.run(
        "(until [ -e go ]; do sleep 0.01; done; echo late; echo late >&2; touch done) & echo started"
    )
    assert started.stdout == "started\n"
    assert started.duration_ms < 5000
    result = await shell.run("touch go; until [ -e done ]; do sleep 0.01; done; echo mine", timeout=60)
    assert (result.stdout, result.stderr) == ("mine\n", "")


async def test_many_background_children_that_print_forever_do_not_stop_the_next_command(shell: Shell):
    result = await shell.run("yes & yes >&2 & echo started", timeout=60)
    assert result.exit_code == 0
    assert (
        await shell.run("echo on; kill %1 %2 2>/dev/null; kill $(jobs -p) 2>/dev/null; (exit 2)", timeout=60)
    ).exit_code == 2


async def test_a_hundred_megabytes_keep_memory_flat_and_end_up_in_the_log(shell: Shell):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    result = await shell.run("echo first; head -c 100000000 /dev/zero | tr '\\0' 'x'; echo; echo last; (exit 3)")
    grown_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert result.exit_code == 3
    assert result.truncated
    assert result.stdout.startswith("first\nxxx")
    assert result.stdout.endswith("xxx\nlast\n")
    assert len(result.stdout) < 100_000
    assert Path(result.log).stat().st_size == 100_000_012
    assert (await shell.run(f"tail -c 5 {result.log}")).stdout == "last\n"
    assert grown_kib < 16_000


async def test_output_is_shown_while_the_command_runs_with_characters_kept_whole(shell: Shell, workspace: Path):
    pieces: list[tuple[OutputStream, str]] = []

    def on_output(stream: OutputStream, text: str) -> None:
        pieces.append((stream, text))
        (workspace / f"seen{len(pieces)}").touch()

    command = "printf '\\xc3'; sleep 0.05; printf '\\xa9'; until [ -e seen1 ]; do sleep 0.01; done; printf e >&2"
    result = await shell.run(command, timeout=60, on_output=on_output)
    assert pieces == [("stdout", "é"), ("stderr", "e")]
    assert result.stdout == "é"


async def test_a_megabyte_of_command_and_a_nul_in_one(shell: Shell):
    assert (await shell.run(f"echo '{'x' * 1_000_000}' | wc -c")).stdout.strip() == "1000001"
    refused = await shell.run("echo a\0b")
    assert refused.exit_code == 2
    assert "NUL" in refused.stderr
    assert (await shell.run("echo fine")).stdout == "fine\n"


async def test_an_interactive_command_reads_what_is_sent_to_it(shell: Shell):
    def answer(stream: OutputStream, text: str) -> None:
        if "name?" in text:
            shell.send_input("Ada\n")
        if "more?" in text:
            shell.close_input()

    command = "echo 'name?'; read name; echo \"hello $name\"; echo 'more?'; cat; echo end"
    result = await shell.run(command, timeout=60, on_output=answer, interactive=True)
    assert result.stdout == "name?\nhello Ada\nmore?\nend\n"
    assert (await shell.run("cat; echo empty again", timeout=60)).stdout == "empty again\n"


async def test_commands_sent_together_run_one_after_another(shell: Shell):
    results = await asyncio.gather(
        *(shell.run(f"sleep 0.01; echo {number}; n=$((n+1)); echo $n") for number in range(8))
    )
    assert [result.stdout for result in results] == [f"{number}\n{number + 1}\n" for number in range(8)]


def test_any_text_passes_through_unchanged_as_data(workspace: Path):
    printable = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))

    @settings(max_examples=100, deadline=None)
    @given(text=printable, code=st.integers(0, 255))
    def check(text: str, code: int) -> None:
        quoted = text.replace("'", "'\\''")
        result = shell.run(f"printf %s '{quoted}'; (exit {code})", timeout=60)
        assert (result.stdout, result.stderr, result.exit_code) == (text, "", code)

    with JailedShell(workspace, HostJail()) as shell:
        check()


def test_no_garbage_as_a_command_breaks_the_framing(workspace: Path):
    fragments = st.sampled_from(
        ["'", '"', "`", "$(", ")", "{", "}", "<<X", "|", "&", ";", "\n", "\\", "exit 1", "if", "x", "#"]
    )

    @settings(max_examples=100, deadline=None)
    @given(
        garbage=st.lists(fragments | st.text(max_size=3).map(lambda text: text.replace("\0", "")), max_size=8).map(
            " ".join
        )
    )
    def check(garbage: str) -> None:
        shell.run(f"PATH= ; {garbage}", timeout=5)
        result = shell.run("\\builtin echo framed; (exit 12)", timeout=5)
        if result.exit_code == 134:  # some garbage makes bash itself abort, a command later: then there is another
            result = shell.run("\\builtin echo framed; (exit 12)", timeout=5)
        assert (result.stdout, result.exit_code) == ("framed\n", 12)

    with JailedShell(workspace, HostJail()) as shell:
        check()


async def test_it_works_on_uvloop_too(jail: Jail, workspace: Path):
    program = (
        "import asyncio, sys, uvloop; from pathlib import Path\n"
        f"from openagent.jail.{jail.kind} import {type(jail).__name__} as J\n"
        "async def main():\n"
        "    shell = await J().open('s', Path(sys.argv[1]))\n"
        "    a = await shell.run('cd /; echo out; (exit 3)')\n"
        "    b = await shell.run('sleep 100; echo no', timeout=0.05)\n"
        "    c = await shell.run('pwd')\n"
        "    await shell.close()\n"
        "    assert (a.exit_code, a.stdout, b.timed_out, c.stdout) == (3, 'out\\n', True, '/\\n'), (a, b, c)\n"
        "uvloop.run(main())\n"
    )
    arguments = [sys.executable, "-W", "error", "-c", program, str(workspace)]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=30, check=False)
    assert (done.returncode, done.stderr) == (0, "")
