"""`openagent init` and `openagent logs`."""

import json
from dataclasses import replace

from .machine import Machine
from .pseudo_terminal import Terminal

WROTE = {"tool_calls": [{"name": "write_file", "arguments": {"path": "AGENTS.md", "content": "# By the agent\n"}}]}


def test_init_lets_the_agent_write_the_file_and_never_replaces_one_unasked(fresh: Machine) -> None:
    file = fresh.workspace / "AGENTS.md"
    fresh.sim.reset({"steps": [WROTE, {"text": "Done."}]})
    ran = fresh.run("init")
    assert ran.returncode == 0, ran.stderr
    assert file.read_text() == "# By the agent\n"
    refused = fresh.run("init")
    assert refused.returncode == 1
    assert "There is an AGENTS.md already." in refused.stderr
    with Terminal(fresh, "init", "--scaffold") as terminal:
        terminal.until("Replace it?")
        terminal.enter("n\n")
        assert terminal.exit_code() == 130
    assert file.read_text() == "# By the agent\n"


def test_init_without_a_model_writes_headings_with_what_it_found(fresh: Machine) -> None:
    (fresh.workspace / "Makefile").write_text("check:\n\ttrue\n")
    (fresh.workspace / "src").mkdir()
    nothing = replace(fresh, extra={"OPENAGENT_MODEL": "", "OPENAI_API_KEY": "", "OPENAI_BASE_URL": ""})
    ran = nothing.run("init", "--json")
    assert ran.returncode == 0, ran.stderr
    written = (fresh.workspace / "AGENTS.md").read_text()
    assert json.loads(ran.stdout) == {"written": str(fresh.workspace / "AGENTS.md")}
    assert "`make check`" in written
    assert "`src/`" in written


def test_the_log_is_shown_filtered_and_followed(fresh: Machine) -> None:
    assert "no daemon has run here yet" in fresh.run("logs").stderr
    fresh.turn("Hi")
    assert fresh.run("logs", "--lines", "3").stdout.count("\n") <= 3
    lines = fresh.json("logs")["lines"]
    assert {"at", "level", "message"} <= set(lines[0])
    assert all(line["level"] in ("error", "critical") for line in fresh.json("logs", "--level", "error")["lines"])
    with Terminal(fresh, "logs", "--follow", "--lines", "1") as terminal:
        terminal.until("\n")
        with (fresh.home / "logs" / "daemon.log").open("a") as log:
            log.write('{"at": "2026-01-01T00:00:00Z", "level": "warning", "logger": "x", "message": "A new line."}\n')
        terminal.until("A new line.")
        terminal.enter("\x03")
        assert terminal.exit_code() == 130
