"""`--connect`: every command with a daemon of another machine."""

import json
import os
from collections.abc import Generator
from pathlib import Path
from typing import NamedTuple

import pytest

from devtools.simulator import ThreadedSimulator

from .machine import Machine


class Two(NamedTuple):
    here: Machine
    there: Machine
    way: tuple[str, ...]
    """What leads from here to there."""


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Generator[Two, None, None]:
    root = tmp_path_factory.mktemp("two")
    with ThreadedSimulator([{"text": "from afar"}, {"text": "and on"}]) as sim:
        there = Machine(root / "there", sim)
        # Nothing that would open a model: only the daemon there has that.
        here = Machine(root / "here", sim, {"OPENAI_API_KEY": "", "OPENAI_BASE_URL": "http://127.0.0.1:9"})
        assert there.run("serve", "--daemon", "--web-socket", "0").returncode == 0
        try:
            url = there.json("status")["web_url"]
            token = here.root / "there.token"
            token.write_bytes((there.home / "token").read_bytes())
            yield Two(here, there, ("--connect", url, "--token-file", str(token)))
        finally:
            there.run("stop")


def test_a_prompt_is_answered_over_there_and_nothing_starts_here(two: Two) -> None:
    ran = two.here.run(*two.way, "run", "--cwd", str(two.there.workspace), "--output", "json", "hello")
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout)["text"] == "from afar"
    assert two.here.daemon_pid() is None
    went_on = two.here.run("run", "--continue", *two.way, "more")
    assert (went_on.returncode, went_on.stdout.strip()) == (0, "and on"), went_on.stderr


def test_options_may_stand_behind_the_command_and_in_the_environment(two: Two) -> None:
    (flag, url, token_flag, file) = two.way
    there = two.there.json("status")["pid"]
    assert two.here.json("status", *two.way)["pid"] == there
    assert two.here.json(f"{flag}={url}", f"{token_flag}={file}", "status")["pid"] == there
    told = Machine(two.here.root, two.here.sim, {"OPENAGENT_CONNECT": url, "OPENAGENT_TOKEN": Path(file).read_text()})
    assert told.json("status")["pid"] == there
    for command in (("sessions", "list"), ("task", "list"), ("models", "list"), ("usage",), ("tools", "list")):
        assert two.here.run(*command, *two.way).returncode == 0, command


@pytest.mark.parametrize("options", [[], ["--new"], ["--token", "x"]])
def test_without_a_command_it_is_the_terminal_interface(two: Two, options: list[str]) -> None:
    ran = two.here.run(*two.way, *options)
    assert (ran.returncode, ran.stdout) == (1, "")
    assert "This needs a terminal." in ran.stderr


def test_what_follows_two_dashes_is_a_prompt(two: Two) -> None:
    two.there.sim.reset({"steps": [{"text": "understood"}]})
    ran = two.here.run(*two.way, "run", "--cwd", str(two.there.workspace), "--", "--connect", "means", "what?")
    assert (ran.returncode, ran.stdout.strip()) == (0, "understood"), ran.stderr


@pytest.mark.parametrize(
    ("way", "problem"),
    [
        (["--connect"], "--connect needs a value."),
        (["--connect", "127.0.0.1:9"], "No daemon answers at ws://127.0.0.1:9/ws: Connection refused."),
        (
            ["--connect", "http://127.0.0.1:9/login#abc"],
            "No daemon answers at ws://127.0.0.1:9/ws: Connection refused.",
        ),
        (["--connect", "x:1", "--token-file", "nowhere"], "The token in nowhere cannot be read: No such file"),
    ],
)
@pytest.mark.parametrize("command", [["run", "hello"], ["sessions", "list"]])
def test_a_way_that_leads_nowhere_is_one_sentence(two: Two, command: list[str], way: list[str], problem: str) -> None:
    ran = two.here.run(*command, *way)
    assert ran.returncode in (1, 2)
    assert problem in ran.stderr
    assert len(ran.stderr.splitlines()) == 1
    assert two.here.daemon_pid() is None


def test_a_wrong_token_is_refused(two: Two) -> None:
    wrong = two.here.root / "wrong.token"
    wrong.write_text("nobody")
    for command in (["run", "hello"], ["status"]):
        ran = two.here.run(*command, *two.way[:2], "--token-file", str(wrong))
        assert ran.returncode == 1
        assert "401" in ran.stderr
        assert "nobody" not in ran.stderr


def test_the_daemon_there_is_not_stopped_from_here(two: Two) -> None:
    ran = two.here.run("stop", *two.way)
    assert ran.returncode == 1
    assert "another machine" in ran.stderr
    pid = two.there.daemon_pid()
    assert pid is not None
    os.kill(pid, 0)
