"""What a command finds of the ones before it, as in a plain bash; and what is said when something is lost."""

import asyncio
from pathlib import Path

import pytest

from openagent.jail.bwrap import BwrapJail
from openagent.jail.host import HostJail
from openagent.plugins.jail import Jail, Shell
from tests.jail.conftest import needs_bwrap

pytestmark = pytest.mark.anyio

Kind = type[HostJail] | type[BwrapJail]
kinds = pytest.mark.parametrize("kind", [HostJail, pytest.param(BwrapJail, marks=needs_bwrap)])


@pytest.mark.parametrize(
    ("first", "second", "printed"),
    [
        ("false", "echo $?", "1\n"),
        ("(exit 42)", "echo $?; echo $?", "42\n0\n"),
        ("true | (exit 3) | true", 'echo "${PIPESTATUS[@]}"', "0 3 0\n"),
        ("set -o pipefail; (exit 3) | true", 'echo "$? ${PIPESTATUS[@]}"', "3 3 0\n"),
        ("false", 'echo "${PIPESTATUS[@]}"', "1\n"),
        ("ls /nonexistent", 'echo "$?"', "2\n"),
        ("mkdir -p a/b", 'cd "$_" && basename "$PWD"', "b\n"),
        ("echo 'two  words' >/dev/null", 'echo "$_"', "two  words\n"),
        ("cat <<END\nx\nEND", "echo $? $_", "0 cat\n"),
        ("cat <<END\nnever ended", "echo $?", "0\n"),
        ("fi", "echo $?", "2\n"),
        ("set -e; [ -e nowhere ] && echo x", "echo $?", "1\n"),
        ("trap 'echo failed $?' ERR; ! false; false && true", "echo $?", "1\n"),
        ("set -x; false; set +x", "echo $?", "0\n"),
        ("nosuchcommand", "exit", ""),
        ("echo a #comment", "echo $?", "0\n"),
        ("cd /; cd /usr", "cd - ", "/\n"),
        ("exec 9>numbered; echo kept >&9", "echo more >&9; cat numbered", "kept\nmore\n"),
        ("IFS=0123456789; (exit 17) | true", 'echo "${PIPESTATUS[@]}"', "17 0\n"),
        ("umask 027; set -f; shopt -s nullglob", "umask; echo *; shopt -q nullglob; echo $?", "0027\n*\n0\n"),
    ],
)
async def test_a_command_finds_what_the_one_before_left(shell: Shell, first: str, second: str, printed: str):
    await shell.run(first, timeout=60)
    assert (await shell.run(second, timeout=60)).stdout == printed


async def test_a_search_between_two_commands_leaves_no_trace(shell: Shell, workspace: Path):
    (workspace / "sub").mkdir()
    await shell.run("cd sub; cd ..; (exit 9)")
    there = await shell.run("(basename \"$PWD\"; echo 'it''s  two'); (exit 4)", cwd=str(workspace / "sub"))
    assert (there.stdout, there.exit_code) == ("sub\nits  two\n", 4)
    assert (await shell.run("echo $?; cd - >/dev/null; basename $PWD")).stdout == "9\nsub\n"


@pytest.mark.parametrize(
    "command",
    [
        "cat <(echo a) <(echo b) <(echo c) <(echo d) nosuchfile",
        "cat <(echo 1) <(echo 2) <(echo 3) <(echo 4) <(echo 5) <(echo 6) <(echo 7) <(echo 8); (exit 1)",
        "coproc { read line; echo got $line; }; echo x >&${COPROC[1]}; read -u ${COPROC[0]} y; echo $y; (exit 1)",
        "exec 60>f60 61>f61 62>f62 63>f63 200>f200; echo x >&200; (exit 1)",
        "diff <(seq 3) <(seq 4)",
    ],
)
async def test_process_substitutions_and_coprocesses_leave_the_shell_whole(shell: Shell, command: str):
    await shell.run("kept=yes")
    result = await shell.run(command, timeout=60)
    assert (result.exit_code, result.notes) == (1, ())
    after = await shell.run("echo $kept", timeout=60)
    assert (after.stdout, after.notes) == ("yes\n", ())


@pytest.mark.parametrize(
    ("command", "exit_code"),
    [
        ('echo "unclosed', 2),
        ("for x in", 2),
        ('eval "echo \'"', 2),
        ("echo ${", 2),
        ("echo a \\", 0),
        ("f()", 2),
        ("ls &&", 2),
    ],
)
async def test_text_that_is_not_whole_leaves_the_shell_whole(shell: Shell, command: str, exit_code: int):
    await shell.run("kept=yes")
    result = await shell.run(command, timeout=60, merged=True)
    assert (result.exit_code, result.notes) == (exit_code, ())
    assert "_oa" not in result.stdout
    after = await shell.run("echo $? $kept $LINENO", timeout=60)
    assert (after.stdout, after.notes) == (f"{exit_code} yes 1\n", ())


async def test_errors_count_their_lines_from_the_command(shell: Shell):
    for _ in range(2):
        result = await shell.run("echo $LINENO\nnosuchcommand\n\necho $LINENO; fi_ nosuch", merged=True)
        lines = result.stdout.splitlines()
        assert lines == [
            "1",
            "bash: line 2: nosuchcommand: command not found",
            "4",
            "bash: line 4: fi_: command not found",
        ]
    assert "line 2: syntax error" in (await shell.run("true\nfi")).stderr


async def test_output_and_errors_come_in_the_order_they_were_written(shell: Shell):
    result = await shell.run("for i in 1 2 3; do echo out$i; echo err$i >&2; done; (exit 3)", merged=True)
    assert (result.stdout, result.stderr, result.exit_code) == ("out1\nerr1\nout2\nerr2\nout3\nerr3\n", "", 3)


SETTING = (
    "mkdir -p sub; cd sub; plain=p; export EXPORTED='e x'; declare -A map=([k]='v w'); declare -i number=4\n"
    "list=(a 'b c')\n"
    "text=$'two\\nlines'; f() { echo \"fn $1\"; }; shopt -s extglob expand_aliases; alias hi='echo hi'\n"
    "set -o pipefail; set -u; umask 027; unset HOME; readonly fixed=1"
)
ASKING = (
    'basename "$PWD"; echo "$plain $EXPORTED ${map[k]} $number ${list[1]} $text $fixed"; env | grep ^EXPORTED; f x\n'
    "hi; shopt -q extglob && echo extglob; [[ $SHELLOPTS == *pipefail* && $- == *u* ]] && echo options; umask\n"
    "echo ${HOME-none}"
)
KEPT = "sub\np e x v w 4 b c two\nlines 1\nEXPORTED=e x\nfn x\nhi\nextglob\noptions\n0027\nnone\n"


async def test_a_timeout_keeps_what_was_there_before_the_command_and_says_so(shell: Shell):
    await shell.run(SETTING)
    assert (await shell.run(ASKING)).stdout == KEPT
    killed = await shell.run("lost=1; sleep 100", timeout=0.2)
    assert killed.timed_out
    assert "as it was before this command" in "".join(killed.notes)
    after = await shell.run(ASKING + "\necho ${lost-lost}")
    assert (after.stdout, after.notes) == (KEPT + "lost\n", ())


async def test_a_shell_that_a_failure_ended_is_not_ended_by_the_next_one(shell: Shell):
    await shell.run("set -e; kept=1")
    assert (await shell.run("false")).notes
    after = await shell.run("false; echo on $kept")
    assert (after.stdout, after.notes) == ("on 1\n", ())


@kinds
async def test_a_command_in_the_background_leaves_the_shell_as_it_was(kind: Kind, workspace: Path):
    shell = await kind(background_after=0.2).open("session", workspace)
    await shell.run(SETTING, timeout=30)
    moved = await shell.run("sleep 100")
    assert moved.background
    assert "as it was before this command" in "".join(moved.notes)
    assert (await shell.run(ASKING)).stdout == KEPT
    await shell.close()


@kinds
async def test_a_new_daemons_shell_has_what_the_old_ones_had_and_says_what_is_gone(
    kind: Kind, workspace: Path, tmp_path: Path
):
    jail: Jail = kind(log_dir=tmp_path / "logs")
    first = await jail.open("session", workspace)
    long = "long=$(head -c 300000 /dev/zero | tr '\\0' x)"  # so that it takes a while to be told
    assert (await first.run(f"{SETTING}; {long}")).notes == ()
    await first.close()
    second = await jail.open("session", workspace)
    assert second.directory == f"{workspace}/sub"
    result = await second.run(ASKING)
    assert result.stdout == KEPT
    assert "new shell" in "".join(result.notes)
    assert "processes are gone" in "".join(result.notes)
    assert (await second.run("true")).notes == ()
    await second.close()
    other = await jail.open("other", workspace)
    assert (await other.run('echo "${plain-unset}"')).stdout == "unset\n"
    await other.close()


@kinds
async def test_a_timeout_counts_on_in_the_background(kind: Kind, workspace: Path):
    ended = asyncio.Event()
    jail = kind(background_after=0.1, on_background_end=lambda _session, _command: ended.set())
    shell = await jail.open("session", workspace)
    moved = await shell.run("sleep 1000", timeout=0.4)
    assert moved.background
    async with asyncio.timeout(20):
        await ended.wait()
    result = shell.read_background(moved.background)
    assert (result.timed_out, result.ended, result.exit_code) == (True, True, None)
    assert [(each.running, each.timed_out) for each in shell.background()] == [(False, True)]
    await shell.close()
