"""`openagent sessions`, `config show`, `protocol schema`."""

import json
import signal
from pathlib import Path

import pytest

from devtools.simulator import ThreadedSimulator
from openagent.protocol.version import PROTOCOL_VERSION

from .machine import MODEL, PATIENCE, Machine, shell

ESCAPES = "\x1b]0;stolen title\x07\x1b[31mred\x1b[0m \x9b2J\u202egnp.exe"


@pytest.fixture(scope="module")
def told(machine: Machine) -> str:
    """A session in which something was done."""
    (machine.workspace / "a.txt").write_text("one\ntwo\n")
    script = [
        {"thinking": "First\nI look.", "tool_calls": [{"name": "read_file", "arguments": {"path": "a.txt"}}]},
        {"tool_calls": [{"name": "edit_file", "arguments": {"path": "a.txt", "old": "two", "new": "2\n3"}}]},
        shell(f"printf '{'x' * 200}'; exit 4"),
        {"text": f"It is done. {ESCAPES}"},
    ]
    return machine.turn("Change the file", script=script)


def test_show_prints_a_conversation_that_reads_well(machine: Machine, told: str) -> None:
    lines = machine.run("sessions", "show", told).stdout.splitlines()
    assert lines[0].startswith(f"Change the file  ·  {told}  ·  {MODEL}")
    body = [line for line in lines[1:] if line]
    assert body[0] == "› Change the file"
    assert body[1] == "… First I look."
    assert body[2].startswith("✓ read a.txt · ")
    assert body[3].startswith("✓ edited a.txt +2 −1 · ")
    assert body[4].startswith("✗ failed: run printf 'xxx")
    assert "exit 4" in body[4]
    assert body[5] == "It is done. red gnp.exe"
    assert body[6].startswith("— Done (4 steps, ")


def test_how_turns_and_calls_ended_is_shown_and_exported_afterwards(machine: Machine) -> None:
    script = [
        {"tool_calls": [{"name": "write_file", "arguments": {"path": "a.txt", "content": "x"}}]},
        {"text": "As you wish."},
        {"text": "", "fault": {"name": "401"}},
    ]
    session = machine.turn("Change it", "--mode", "plan", script=script)
    failed = machine.run("run", "--session", session, "Again")
    assert failed.returncode == 5
    shown = machine.run("sessions", "show", session).stdout
    assert "✗ denied: write a.txt (" in shown
    for form in (shown, machine.run("sessions", "export", session, "--format", "markdown").stdout):
        line = next(line for line in form.splitlines() if "✗ Failed: " in line)
        assert "refused the API key" in line
        assert "Run `openagent auth add compatible`." in line
    exported = machine.json("sessions", "export", session)
    assert [(end["turn"], end["reason"]) for end in exported["turns"]] == [(1, "done"), (2, "error")]
    assert exported["turns"][1]["error"]["hint"]


def test_no_escape_sequence_of_a_model_reaches_the_terminal(machine: Machine, told: str) -> None:
    for arguments in (("show", told), ("show", told, "--json"), ("export", told, "--format", "markdown"), ("list",)):
        out = machine.run("sessions", *arguments).stdout
        assert not any(character in out for character in "\x1b\x07\x9b\u202e")


def test_list_shows_the_newest_first_and_filters(machine: Machine, told: str) -> None:
    other = machine.root / "other"
    other.mkdir()
    machine.sim.reset({"loop": True, "steps": [{"text": "ok"}]})
    second = machine.turn("Another thing", "--cwd", str(other))
    listed = [info["id"] for info in machine.json("sessions", "list", "--all")["sessions"]]
    assert listed.index(second) < listed.index(told)
    assert [info["id"] for info in machine.json("sessions", "list", "--cwd", str(other))["sessions"]] == [second]
    assert [info["id"] for info in machine.json("sessions", "list", "--query", "Change the")["sessions"]] == [told]
    assert len(machine.json("sessions", "list", "--limit", "1")["sessions"]) == 1
    text = machine.run("sessions").stdout.splitlines()
    assert text[0].split() == ["ID", "ACTIVE", "STATUS", "MESSAGES", "COST", "NAME", "DIRECTORY"]
    row = next(line for line in text if told in line)
    assert "just now" in row
    assert "idle" in row
    assert "~/workspace" in row
    assert "There are no such sessions." in machine.run("sessions", "list", "--query", "nothing like it").stdout


def test_export_writes_every_message_of_a_long_session(machine: Machine) -> None:
    steps = [shell(f"echo {number}") for number in range(150)]
    session = machine.turn("count", script=[*steps, {"text": "counted"}])
    file = machine.root / "session.json"
    assert machine.run("sessions", "export", session, "--output", str(file)).returncode == 0
    exported = json.loads(file.read_text())
    assert [message["number"] for message in exported["messages"]] == list(range(1, 303))
    assert exported["session"]["id"] == session
    markdown = machine.run("sessions", "export", session, "--format", "markdown").stdout
    assert markdown.count("- ✓ ran echo ") == 150
    assert "## You\n\ncount\n" in markdown
    assert f"## {MODEL}\n\ncounted\n" in markdown


def test_an_export_that_cannot_be_written_says_so(machine: Machine, told: str) -> None:
    ran = machine.run("sessions", "export", told, "--output", "/does/not/exist.json")
    assert ran.returncode == 1
    assert ran.stderr == "openagent: /does/not/exist.json cannot be written: No such file or directory.\n"


def test_a_fork_goes_its_own_way(machine: Machine) -> None:
    session = machine.turn("one", script=[{"text": "a"}, {"text": "b"}])
    machine.turn("two", "--session", session)
    fork = machine.json("sessions", "fork", session, "--through", "2", "--name", "the other way")
    assert (fork["forked_from"], fork["message_count"], fork["name"]) == (session, 2, "the other way")
    assert machine.run("sessions", "fork", session).stdout.splitlines()[0] != fork["id"]
    refused = machine.run("sessions", "fork", session, "--through", "99")
    assert refused.returncode == 1
    assert "no message number 99" in refused.stderr


def test_a_deleted_session_is_gone(machine: Machine) -> None:
    session = machine.turn("forget this", script=[{"text": "a"}])
    assert machine.json("sessions", "delete", session, "--yes") == {"deleted": [session]}
    ran = machine.run("sessions", "show", session)
    assert (ran.returncode, ran.stdout) == (1, "")
    assert f"There is no session '{session}'." in ran.stderr


def test_the_configuration_is_shown_with_its_sources(machine: Machine) -> None:
    project = machine.root / "project" / ".openagent"
    project.mkdir(parents=True)
    (project / "config.toml").write_text('mode = "edits"\n')
    machine.json("trust", str(project.parent))
    shown = machine.json("config", "show", "--cwd", str(project.parent))
    values = {item["key"]: item for item in shown["values"]}
    assert values["mode"]["value"] == "edits"
    assert values["mode"]["source"].startswith(str(project / "config.toml"))
    assert (values["model"]["value"], "OPENAGENT_MODEL" in values["model"]["source"]) == (MODEL, True)
    assert "key-of-the-test" not in machine.run("config", "show").stdout


def test_a_broken_project_configuration_is_told_in_the_daemons_own_words(machine: Machine) -> None:
    config = machine.root / "broken" / ".openagent" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text("mode = 5\n")
    untrusted = machine.run("config", "show", "--cwd", str(machine.root / "broken"))
    assert untrusted.returncode == 0
    assert f"! {config}:1: `mode` must be" in untrusted.stdout
    machine.json("trust", str(machine.root / "broken"))
    ran = machine.run("config", "show", "--cwd", str(machine.root / "broken"))
    assert (ran.returncode, ran.stdout) == (1, "")
    assert f"{config}:1" in ran.stderr


def test_the_schema_describes_this_protocol(machine: Machine) -> None:
    schema = json.loads(machine.run("protocol", "schema").stdout)
    assert schema["version"] == PROTOCOL_VERSION
    assert "ToolRun" in schema["$defs"]


def test_queued_messages_are_listed_edited_and_gone_on_with(machine: Machine) -> None:
    machine.sim.reset(
        {
            "conversations": [
                {"match": {"last_user": "slow"}, "steps": [{"text": "so", "fault": {"name": "stall", "after": 1}}]},
                {"steps": [{"text": "You said: {last_user}"}], "loop": True},
            ]
        }
    )
    with machine.start("run", "--mode", "full", "slow") as running:
        while not (
            busy := [each for each in machine.json("sessions", "list")["sessions"] if each.get("status") == "thinking"]
        ):
            assert running.poll() is None
        session = busy[0]["id"]
        later = {text: machine.start("run", "--session", session, text) for text in ("one", "two")}
        while len(queued := machine.json("sessions", "queue", session)["queued"]) < 2:
            assert running.poll() is None
        one, two = sorted(queued, key=lambda each: each["parts"][0]["text"])
        machine.run("sessions", "queue", session, "--move", two["id"], "1", "--edit", one["id"], "uno")
        assert ", 2 queued" in machine.run("sessions", "list").stdout
        assert "2 messages queued" in machine.run("status").stdout
        assert machine.run("sessions", "queue", session, "--remove", one["id"]).returncode == 0
        running.send_signal(signal.SIGINT)
        running.communicate()
    told = {text: each.communicate(timeout=PATIENCE)[1] for text, each in later.items()}
    assert [each.returncode for each in later.values()] == [1, 1]
    assert b"withdrawn" in told["one"]
    assert b"--resume" in told["two"]
    shown = machine.run("sessions", "queue", session)
    assert shown.stdout.splitlines()[0].endswith("two")
    assert "--resume" in shown.stdout
    assert machine.run("sessions", "queue", session, "--resume").returncode == 0
    with machine.start("run", "--session", session, "three") as last:
        assert last.communicate(timeout=PATIENCE)[0] == b"You said: three\n"
    said = [line for line in machine.run("sessions", "show", session).stdout.splitlines() if "You said" in line]
    assert said == ["You said: two", "You said: three"]


def test_a_command_that_is_stopped_while_its_message_waits_takes_it_back(machine: Machine) -> None:
    machine.sim.reset([{"text": "so", "fault": {"name": "stall", "after": 1}}])
    with machine.start("run", "--mode", "full", "slowly") as running:
        while not (
            busy := [each for each in machine.json("sessions", "list")["sessions"] if each.get("status") == "thinking"]
        ):
            assert running.poll() is None
        session = busy[0]["id"]
        with machine.start("run", "--session", session, "next") as waiting:
            while not machine.json("sessions", "queue", session)["queued"]:
                assert waiting.poll() is None
            waiting.send_signal(signal.SIGINT)
            assert b"withdrawn" in waiting.communicate(timeout=PATIENCE)[1]
        assert machine.json("sessions", "list")["sessions"][0]["status"] == "thinking"
        running.send_signal(signal.SIGINT)
        running.communicate()


def test_the_model_that_a_key_alone_gives_is_named_wherever_one_is(tmp_path: Path, sim: ThreadedSimulator) -> None:
    machine = Machine(tmp_path, sim, {"OPENAGENT_MODEL": "", "OPENAI_API_KEY": "key-of-the-test"})
    try:
        values = {item["key"]: item for item in machine.json("config", "show")["values"]}
        assert (values["model"]["value"], values["model"]["source"]) == ("openai/gpt-5", "the first key found")
        assert machine.json("status")["model"] == "openai/gpt-5"
        session = machine.turn("Who are you?", script=[{"text": "Me."}])
        assert f"  ·  {session}  ·  openai/gpt-5  ·  " in machine.run("sessions", "show", session).stdout
        assert [each["model"] for each in machine.json("sessions", "list")["sessions"]] == ["openai/gpt-5"]
    finally:
        machine.run("stop")


def test_a_session_is_exported_as_one_page_in_which_nothing_runs(machine: Machine) -> None:
    said = "**Bold** <script>alert(1)</script>\n\n[x](javascript:alert(2))"
    session = machine.turn("Show it", script=[{"text": said}])
    page = machine.run("sessions", "export", session, "--format", "html").stdout
    assert page.startswith("<!doctype html>")
    assert "<strong>Bold</strong>" in page
    assert "&lt;script&gt;" in page
    assert "<script" not in page
    assert 'href="javascript' not in page
    markdown = machine.run("sessions", "export", session, "--format", "md").stdout
    assert markdown == machine.run("sessions", "export", session, "--format", "markdown").stdout


def test_sessions_that_rested_are_told_before_they_are_put_away_or_deleted(fresh: Machine) -> None:
    first, second = fresh.turn("One"), fresh.turn("Two")
    assert "Nobody can be asked here" in fresh.run("sessions", "prune", "--older-than", "0").stderr
    assert "No session has rested that long." in fresh.run("sessions", "prune", "--older-than", "1", "--yes").stdout
    told = fresh.run("sessions", "prune", "--older-than", "0", "--dry-run").stdout
    assert told.index(first) < told.index(second)
    assert "2 sessions would be deleted for good." in told
    away = fresh.json("sessions", "prune", "--older-than", "0", "--archive", "--yes")
    assert [info["id"] for info in away["archived"]] == [first, second]
    assert len(fresh.json("sessions", "list", "--archived")["sessions"]) == 2
    fresh.json("sessions", "prune", "--older-than", "0", "--yes")
    assert fresh.json("sessions", "list", "--all")["sessions"] == []
