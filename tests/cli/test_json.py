"""`--json`: every command takes it, and answers, or fails, with one object."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import click
import pytest

from openagent.cli.commands import main, openagent

from .machine import PATIENCE, Machine, Ran

SPEAKS_A_PROTOCOL = {("acp",), ("rpc",), ("mcp", "serve")}
"""What these print on stdout is already for programs."""
A_STREAM = {("attach",), ("index", "watch")}
IS_READ_BEFORE = {("run",), ("tui",), ("resume",)}
"""Read by the prompt's own grammar; tests/cli/test_grammar.py has them."""
CHANGES_THIS_MACHINE = {
    ("stop",),
    ("serve",),
    ("web",),
    ("service", "install"),
    ("service", "remove"),
    ("index", "setup"),
    ("demo",),
    ("update",),
    ("init",),
    ("config", "edit"),
}
Path = tuple[str, ...]


def walk(command: click.Command = openagent, path: Path = ()) -> Iterator[tuple[Path, click.Command]]:
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command, info_name=path[-1] if path else "openagent")
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from walk(inner, (*path, name))


TREE = dict(walk())
GROUPS = [path for path, command in TREE.items() if path and isinstance(command, click.Group)]
COMMANDS = [path for path, command in TREE.items() if not isinstance(command, click.Group)]
READ_HERE = [path for path in COMMANDS if path not in SPEAKS_A_PROTOCOL | IS_READ_BEFORE]


def least_arguments(command: click.Command) -> list[str]:
    given: list[str] = []
    for parameter in command.params:
        if not parameter.required:
            continue
        if isinstance(parameter, click.Option):
            given.append(parameter.opts[0])
        kind = parameter.type
        given.append(str(kind.choices[0]) if isinstance(kind, click.Choice) else "1")
    return given


def needs_nothing(path: Path) -> bool:
    return path not in CHANGES_THIS_MACHINE | A_STREAM and not least_arguments(TREE[path])


def one_object(printed: str) -> dict[str, Any]:
    assert printed.startswith("{")
    answer: dict[str, Any] = json.loads(printed)
    if error := answer.get("error"):
        assert sorted(error) == ["code", "hint", "message"]
    return answer


def failed(ran: Ran) -> dict[str, str]:
    assert ran.returncode != 0
    assert ran.stderr == ""
    return one_object(ran.stdout)["error"]


@pytest.mark.parametrize("path", READ_HERE, ids=" ".join)
def test_every_command_takes_json_and_refuses_wrong_options_in_json(
    path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert any("--json" in parameter.opts for parameter in TREE[path].params)
    code = main([*path, "--json", "--no-such-option"])
    out, err = capfd.readouterr()
    error = failed(Ran(code, out, err))
    assert (code, error["code"]) == (2, "usage")
    assert "--no-such-option" in error["message"]
    assert error["hint"] == f"See `openagent {' '.join(path)} --help`."


@pytest.mark.parametrize("path", GROUPS, ids=" ".join)
def test_a_group_alone_answers_with_an_object_too(run_here: Callable[..., Ran], path: Path) -> None:
    ran = run_here(*path, "--json")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert one_object(ran.stdout)


@pytest.mark.parametrize("path", [path for path in READ_HERE if needs_nothing(path)], ids=" ".join)
def test_every_command_that_needs_nothing_answers_with_one_object(run_here: Callable[..., Ran], path: Path) -> None:
    ran = run_here(*path, "--json")
    answer = one_object(ran.stdout)
    assert answer
    assert ran.stderr == ""
    # A doctor may find something missing, and whoever logs in without a word is asked to what.
    assert ran.returncode in (0, 1) or answer["error"]["code"] == "usage"


@pytest.mark.parametrize("path", [path for path in READ_HERE if path not in CHANGES_THIS_MACHINE], ids=" ".join)
def test_a_daemon_that_is_nowhere_is_an_error_in_json(
    path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAGENT_CONNECT", "127.0.0.1:9")
    code = main([*path, *least_arguments(TREE[path]), "--json"])
    out, err = capfd.readouterr()
    assert err == ""
    assert one_object(out)
    assert code == 0 or "error" in one_object(out) or path == ("templates", "import")  # which tells it of each file


@pytest.mark.parametrize("path", [("sessions",), ("tools", "list"), ("help", "api"), ("config", "show")], ids=" ".join)
def test_a_reader_that_leaves_ends_a_command_quietly(machine: Machine, path: Path) -> None:
    with machine.start(*path, "--json") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.wait(PATIENCE) in (0, 141)
        assert process.stderr.read() == b""


def test_json_may_stand_before_the_command(machine: Machine) -> None:
    machine.turn("one", script=[{"text": "a"}])
    whole = machine.json("sessions", "list")
    assert whole["sessions"]
    for words in (("--json", "sessions", "list"), ("sessions", "--json", "list"), ("sessions", "--json")):
        ran = machine.run(*words)
        assert one_object(ran.stdout).keys() == whole.keys(), words


def test_wrong_ways_elsewhere_are_json_for_programs(machine: Machine) -> None:
    for words in (("--connect",), ("--connect", "x:1", "--token-file", "nowhere")):
        error = failed(machine.run("sessions", "list", "--json", *words))
        assert error["code"] == "usage"
    assert "prints no JSON" in failed(machine.run("tui", "--json"))["message"]
