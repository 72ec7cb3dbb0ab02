"""`openagent sessions search`, `tools`, `files`, `usage`, `sessions rename|archive|set|raw`."""

import signal

import pytest

from .machine import PATIENCE, Machine
from .pseudo_terminal import Terminal

WITH_EXAMPLES = [
    "sessions search",
    *(f"tools {each}" for each in ("list", "enable", "disable", "run")),
    *(f"files {each}" for each in ("list", "read", "write")),
    *(f"usage {each}" for each in ("agents", "cost", "failures")),
    *(f"sessions {each}" for each in ("rename", "archive", "set", "raw")),
]


@pytest.fixture(scope="module")
def told(machine: Machine) -> str:
    return machine.turn("Where is the heron?", script=[{"text": "The heron stands in the reeds.\x1b[31m"}])


def test_each_shows_examples_and_prints_json(machine: Machine) -> None:
    for command in WITH_EXAMPLES:
        ran = machine.run(*command.split(), "--help")
        assert (ran.returncode, ran.stderr) == (0, "")
        assert f"  openagent {command}" in ran.stdout.split("Examples:")[1]
        assert "--json" in ran.stdout


def test_what_was_said_is_found_in_all_sessions(machine: Machine, told: str) -> None:
    while not (found := machine.json("sessions", "search", "heron", "reeds"))["found"]:
        assert found["unread"]
    assert [(each["session"], each["role"]) for each in found["found"]] == [(told, "assistant")]
    text = machine.run("search", "heron", "reeds").stdout
    assert text.splitlines()[0].startswith(f"Where is the heron?  {told}  message 2, assistant, just now")
    assert "The heron stands in the reeds." in text
    assert not any(character in text for character in "\x02\x03\x1b")
    assert "Nothing that was said" in machine.run("search", "ostrich").stdout


def test_a_session_is_renamed_and_set(machine: Machine, told: str) -> None:
    assert machine.json("sessions", "rename", told, "Birds")["name"] == "Birds"
    said = machine.run("sessions", "set", told, "mode=plan", "max_steps=7", "tools=read_file,grep")
    assert said.stdout == f"{told}: mode = plan, max_steps = 7, tools = ['read_file', 'grep'].\n"
    settings = machine.json("sessions", "set", told, "tools=none", "mode=full")["settings"]
    assert (settings["tools"], settings["mode"], settings["max_steps"]) == (None, "full", 7)
    for wrong in ("colour=red", "mode", "mode=wild", "max_steps=many"):
        ran = machine.run("sessions", "set", told, wrong)
        assert (ran.returncode, ran.stdout) == (1, "")
        assert "set" in ran.stderr
    assert "heron" in machine.json("sessions", "raw", told, "2")["request"]


def test_a_session_is_put_away_until_something_is_said_in_it(machine: Machine) -> None:
    session = machine.turn("Count the herons.", script=[{"text": "Two."}, {"text": "Three."}])
    assert machine.run("sessions", "archive", session).stdout.endswith("is put away.\n")
    assert machine.json("sessions", "archive", session, "--back")["archived"] is False
    assert machine.json("sessions", "archive", session)["archived"] is True

    def listed(*options: str) -> bool:
        return session in [each["id"] for each in machine.json("sessions", "list", *options)["sessions"]]

    assert (listed(), listed("--archived"), listed("--all")) == (False, True, True)
    assert "idle, archived" in machine.run("sessions", "list", "--archived").stdout
    machine.turn("And now?", "--session", session)
    assert machine.json("sessions", "rename", session, "Herons")["archived"] is False
    assert (listed(), listed("--archived")) == (True, False)
    assert "No such session was put away" in machine.run("sessions", "list", "--archived").stdout


def test_tools_are_listed_switched_and_run_by_hand(machine: Machine, told: str) -> None:
    (machine.workspace / "a.txt").write_text("one\n")
    assert "read_file" in machine.run("tools", "list").stdout
    assert machine.json("tools", "disable", "grep", "--session", told)["enabled"] is False
    off = [tool["name"] for tool in machine.json("tools", "list", "--session", told)["tools"] if not tool["enabled"]]
    assert off == ["grep"]
    assert "grep is on" in machine.run("tools", "enable", "grep", "--session", told).stdout
    ran = machine.run("tools", "run", told, "read_file", "path=a.txt", "lines=1")
    assert (ran.returncode, "one" in ran.stdout) == (0, True)
    assert "one" in machine.json("tools", "run", told, "read_file", '{"path": "a.txt"}')["text"]
    assert "is not NAME=VALUE" in machine.run("tools", "run", told, "read_file", "a.txt").stderr
    assert "path is given twice" in machine.run("tools", "run", told, "read_file", "path=a", "path=b").stderr
    assert "There is no tool" in machine.run("tools", "disable", "hammer").stderr


def test_ctrl_c_stops_the_persons_own_command_and_no_turn(fresh: Machine) -> None:
    session = fresh.turn("hello", script=[{"text": "Hello."}, {"text": "so", "fault": {"name": "stall", "after": 1}}])
    with fresh.start("run", "--session", session, "slowly") as turn:
        while fresh.json("sessions", "show", session)["session"]["status"] != "thinking":
            assert turn.poll() is None
        with fresh.start("tools", "run", session, "shell", "command=touch begun; sleep 1000; touch ended") as command:
            while not (fresh.workspace / "begun").exists():
                assert command.poll() is None
            command.send_signal(signal.SIGINT)
            assert command.wait(PATIENCE) == 130
        finished = fresh.json("audit", "--session", session, "--kind", "command")["entries"]
        assert [each["detail"]["ended"] for each in finished if "begun" in each["subject"]] == ["stopped"]
        assert turn.poll() is None
        turn.send_signal(signal.SIGINT)
        turn.communicate()


def test_a_tool_that_is_asked_about_asks_here_or_is_refused_at_once(machine: Machine) -> None:
    session = machine.turn("Hi", script=[{"text": "Hello."}])
    machine.run("sessions", "set", session, "mode=ask")
    ran = machine.run("tools", "run", session, "shell", "command=touch made.txt")
    assert ran.returncode == 1
    assert ran.stderr == "! refused, for nobody is here to approve it: run touch made.txt\n"
    assert "on a terminal you are asked, a session in the mode edits is not asked about it" in ran.stdout
    with Terminal(machine, "tools", "run", session, "shell", "command=touch made.txt") as terminal:
        terminal.until("? The agent wants to run touch made.txt")
        terminal.until("  > ")
        terminal.enter("a")
        assert terminal.exit_code() == 0
    assert (machine.workspace / "made.txt").exists()


def test_files_of_a_session_are_listed_read_and_written(machine: Machine, told: str) -> None:
    written = machine.run("files", "write", told, "notes/b.txt", given="two\n")
    assert written.stdout == "Wrote notes/b.txt, 4 B.\n"
    assert (machine.workspace / "notes" / "b.txt").read_text() == "two\n"
    assert machine.run("files", "read", told, "notes/b.txt").stdout == "two\n"
    assert [each["path"] for each in machine.json("files", "list", told, "notes")["entries"]] == ["notes/b.txt"]
    assert machine.run("files", "write", told, "notes/b.txt", "--version", "", given="three\n").returncode == 1
    assert "/etc" in machine.run("files", "read", told, "/etc/passwd").stderr


def test_figures_are_told(machine: Machine, told: str) -> None:
    assert told in {each["id"] for each in machine.json("metrics", "agents")["agents"]}
    assert machine.run("metrics", "agents").stdout.split()[:3] == ["ID", "STATUS", "TURNS"]
    assert machine.json("metrics", "cost", "--days", "7")["days"] == 7
    assert "this month, projected" in machine.run("metrics", "cost").stdout
    assert machine.json("metrics", "failures") == {"rows": []}
    assert machine.run("metrics", "failures").stdout == "Nothing went wrong.\n"
