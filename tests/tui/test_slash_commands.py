"""Every slash command, typed into the real program in a real terminal."""

import json
import shutil
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from devtools.simulator import ThreadedSimulator
from openagent.tui.commands import COMMANDS, named, nearest

from ..cli.machine import Machine
from .test_in_tmux import Terminal, terminal

pytestmark = pytest.mark.skipif(not shutil.which("tmux"), reason="tmux is not installed")

WRITTEN = {"tool_calls": [{"name": "write_file", "arguments": {"path": "made.py", "content": "print('made')\n"}}]}


@pytest.fixture
def machine(tmp_path: Path) -> Generator[Machine, None, None]:
    with ThreadedSimulator([WRITTEN, {"text": "It is written."}, {"text": "Once more."}]) as sim:
        yield Machine(tmp_path, sim, {"OPENAGENT_MODE": "full"})


def say(seen: Terminal, line: str, *shown: str, gone: str = "") -> None:
    seen.until_shown("message, @file")
    seen.write(line)
    seen.press("Enter")
    seen.until_shown(*shown, gone=gone)


def leave(seen: Terminal, shown: str) -> None:
    """Out of the full view or a list."""
    seen.press("Escape")
    seen.until_shown("message, @file", gone=shown)


def test_what_a_session_did_is_shown_taken_back_forked_and_written_down(machine: Machine) -> None:
    made = machine.workspace / "made.py"
    with terminal(machine) as seen:
        say(seen, "write it", "It is written.")
        say(seen, "/diff", "Changed: 1 file +1 −0", "+ print('made')")
        leave(seen, "Changed: 1 file")
        say(seen, "/undo", "Undid the changes to files since turn 1.", "/redo brings it back")
        seen.until(lambda: not made.exists())
        say(seen, "/redo", "The rewind was taken back.")
        seen.until(made.exists)
        say(seen, "/usage", "This session:", "tokens in", "REQUESTS")
        leave(seen, "REQUESTS")
        say(seen, "/export notes.md", "Written to")
        seen.until((machine.workspace / "notes.md").exists)
        assert "It is written." in (machine.workspace / "notes.md").read_text()
        say(seen, "/compact", "nothing to leave out yet")
        say(seen, "/search written", "Found: written", "It is written.")
        leave(seen, "Found: written")
        say(seen, "/fork another way", "2 another way", "This is the copy")
        say(seen, "/rename the copy", "2 the copy")
        say(seen, "/clear", "A new session.", "Say what to do.", gone="the copy")
        ids = {each["name"]: each["id"] for each in machine.json("sessions", "list")["sessions"]}
        say(seen, "/resume", "Sessions", "the copy")
        leave(seen, "Enter chooses")
        machine.run("sessions", "archive", ids["the copy"])
        say(seen, "/resume", "Archived sessions …", gone="the copy")
        seen.write("archived")
        seen.press("Enter")
        seen.until_shown("something said in one brings it back", "the copy")
        leave(seen, "Enter chooses")


def test_what_a_session_may_do_is_chosen_by_name(tmp_path: Path) -> None:
    with ThreadedSimulator([{"text": "I looked."}]) as sim:
        machine = Machine(tmp_path, sim, {"OPENAGENT_MODE": "full"})
        config = tmp_path / ".config" / "openagent" / "config.toml"
        config.parent.mkdir(parents=True)
        config.write_text('[prices."compatible/other"]\ninput = 1\noutput = 1\n')

        def sessions() -> list[dict[str, Any]]:
            return machine.json("sessions", "list")["sessions"]

        def settings() -> dict[str, object]:
            return sessions()[0]["settings"]

        with terminal(machine) as seen:
            say(seen, "/mode plan", "· plan ·")
            say(seen, "/mode wild", "There is no mode wild.")
            say(seen, "/thinking high", "Thinking: high")
            say(seen, "/budget 2.50", "It may spend $2.5 in all.")
            say(seen, "/budget", "of $2.5")
            say(seen, "/rename the parser", "1 the parser")
            say(seen, "/model compatible/other", "other · plan")
            assert sessions() == [], "what is chosen before anything was said stores no session"
            say(seen, "look", "I looked.")
            assert sessions()[0]["name"] == "the parser"
            assert settings()["thinking"] == "high"
            assert settings()["model"] == "compatible/other"
            assert (settings()["mode"], settings()["budget_usd"]) == ("plan", 2.5)
            say(seen, "/thinking", "How long the model thinks", "answers at once")
            seen.write("medium")
            seen.press("Enter")
            seen.until(lambda: settings()["thinking"] == "medium")
            say(seen, "/clear", "A new session.", "Say what to do.")
            assert len(sessions()) == 1
            say(seen, "look", "I looked.")
            seen.until(lambda: len(sessions()) == 2)
            assert {each["settings"]["model"] for each in sessions()} == {"compatible/other"}
            assert {each["settings"]["mode"] for each in sessions()} == {"plan"}, "what was chosen stays chosen"


def test_a_session_goes_on_as_a_template_says_and_as_itself_again(tmp_path: Path) -> None:
    with ThreadedSimulator([{"text": "One."}, {"text": "Arr."}, {"text": "Three."}]) as sim:
        machine = Machine(tmp_path, sim, {"OPENAGENT_MODE": "full"})
        folder = tmp_path / ".config" / "openagent" / "agents"
        folder.mkdir(parents=True)
        head = "---\nname: pirate\ndescription: Talks.\nreplace_prompt: true\n---\n"
        (folder / "pirate.md").write_text(f"{head}You are a pirate.\n")
        with terminal(machine) as seen:
            say(seen, "hello", "One.")
            say(seen, "/persona", "It has no persona.")
            say(seen, "/persona nobody", "nobody")
            say(seen, "/persona pirate", "Now as pirate.")
            say(seen, "hello again", "Arr.")
            say(seen, "/persona", "It works as pirate.")
            say(seen, "/persona none", "No persona, from the next step on.")
            say(seen, "and again", "Three.")
        prompts = [json.dumps(request.json()["messages"][0]) for request in sim.requests]
        assert ["You are a pirate." in prompt for prompt in prompts] == [False, True, False]
        assert ["You are OpenAgent" in prompt for prompt in prompts] == [True, False, True]


def test_what_is_done_to_a_session_says_that_nothing_was_said_and_stores_none(machine: Machine) -> None:
    with terminal(machine) as seen:
        for line in ("/compact", "/fork", "/export notes.html", "/undo", "/rewind", "/diff", "/queue"):
            say(seen, line, "Nothing was said here yet.")
            say(seen, "/version", "openagent ")
            seen.until_shown("openagent ", gone="Nothing was said")
        assert machine.json("sessions", "list")["sessions"] == []
        assert list(machine.workspace.iterdir()) == []


def test_the_command_line_is_in_reach(machine: Machine) -> None:
    with terminal(machine) as seen:
        say(seen, "/status", "pid", "socket")
        leave(seen, "socket")
        say(seen, "/doctor", "python")
        leave(seen, "python")
        say(seen, "/config", "KEY", "VALUE", "SOURCE")
        leave(seen, "SOURCE")
        say(seen, "/help safety", "Handbook", "# Safety")
        leave(seen, "# Safety")
        say(seen, "/version", "openagent ")
        say(seen, "/tasks", "There are no such tasks.")
        say(seen, "/login compatible", "API key of compatible")
        seen.write("sk-typed")
        seen.press("Enter")
        seen.until_shown("message, @file", "Done.")
        stored = machine.json("auth", "list")["entries"]
        assert [each["name"] for each in stored if each["source"] == "vault"] == ["compatible"]
        say(seen, "/logout compatible", "The key or login of compatible")


def test_init_asks_the_agent_for_an_agents_file_and_never_replaces_one_unasked(tmp_path: Path) -> None:
    wrote = {"tool_calls": [{"name": "write_file", "arguments": {"path": "AGENTS.md", "content": "# By the agent\n"}}]}
    with ThreadedSimulator([wrote, {"text": "It is there."}]) as sim:
        machine = Machine(tmp_path, sim, {"OPENAGENT_MODE": "full"})
        with terminal(machine) as seen:
            say(seen, "/init", "It is there.")
            assert (machine.workspace / "AGENTS.md").read_text() == "# By the agent\n"
            say(seen, "/init", "There is an AGENTS.md already.")
            say(seen, "/logs --lines 5", " info ")


def test_a_misspelt_command_gets_a_suggestion_and_names_are_completed(machine: Machine) -> None:
    with terminal(machine) as seen:
        say(seen, "/compct", "There is no command /compct.", "/compact?")
        seen.write("/comp")
        seen.until_shown("/compact", "shorten what the model is shown")
        seen.press("Escape")
        seen.until_shown("/comp", gone="shorten what")
        seen.press(*["BSpace"] * 5)
        seen.until_shown("message, @file")
        seen.write("/cost")
        seen.until_shown("/usage", "show the tokens used")
        seen.press("Enter")
        seen.until_shown("This session:")


def test_names_mean_one_thing() -> None:
    names = [word for command in COMMANDS for word in (command.name, *command.words)]
    assert len(names) == len(set(names))
    assert all(command.action or command.does or command.line for command in COMMANDS)
    assert nearest("udno", COMMANDS) == "undo"
    assert named("exit") == named("quit")
    assert json.dumps(nearest("zzzz", COMMANDS)) == '""'
