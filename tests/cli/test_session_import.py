"""`openagent sessions export` and `import`: there and back again."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from .machine import MODEL, Machine, shell


@pytest.fixture(scope="module")
def file(machine: Machine) -> Path:
    """A conversation with calls, one that failed, and one that was taken back, exported and deleted."""
    script = [{"thinking": "I look.", **shell("echo violet; exit 3")}, {"text": "It is violet."}]
    session = machine.turn("Which colour?", script=[*script, {"text": "Never said."}])
    assert machine.run("sessions", "set", session, "thinking=low").returncode == 0
    machine.run("run", "--session", session, "Forget this")
    assert machine.run("sessions", "undo", session, "--turn", "2", "--conversation").returncode == 0
    path = machine.root / "session.json"
    assert machine.run("sessions", "export", session, "--output", str(path)).returncode == 0
    assert machine.run("sessions", "delete", "--yes", session).returncode == 0
    return path


@pytest.fixture(scope="module")
def imported(machine: Machine, file: Path) -> str:
    answer = machine.json("sessions", "import", str(file))
    assert answer["was_here"] is False
    return answer["session"]["id"]


def without(exported: dict[str, Any], *more: str) -> dict[str, Any]:
    """What is said of a session, but for what is another's by design."""
    left_out = ("id", "updated_at", "seq", "forked_from", *more)
    return {name: value for name, value in exported["session"].items() if name not in left_out}


def test_what_comes_back_is_what_was_written(machine: Machine, file: Path, imported: str) -> None:
    there, here = json.loads(file.read_text()), machine.json("sessions", "export", imported)
    for part in ("version", "messages", "turns", "rewound"):
        assert here[part] == there[part], part
    assert here["rewound"]
    assert here["session"]["forked_from"] == there["session"]["id"] != imported
    assert without(here, "settings") == without(there, "settings")
    settings = here["session"]["settings"]
    assert (settings["thinking"], settings["model"]) == ("low", MODEL)
    assert settings["mode"] == "auto", "what an agent may do unasked is not for a file to say"
    shown = machine.run("sessions", "show", imported).stdout
    assert f"  ·  {imported}  ·  {MODEL}  ·  " in shown.splitlines()[0]
    assert "✗ failed: run echo violet; exit 3" in shown
    assert "It is violet." in shown
    while "not searched yet" in (found := machine.run("sessions", "search", "violet").stdout):
        pass
    assert imported in found
    assert imported in [info["id"] for info in machine.json("sessions", "list")["sessions"]]


def test_the_same_file_twice_is_one_session_unless_another_is_wanted(
    machine: Machine, file: Path, imported: str
) -> None:
    again = machine.run("sessions", "import", "-", given=file.read_bytes())
    assert again.returncode == 0
    assert again.stdout.splitlines()[0] == imported
    assert "It is here already: Which colour?. `--again` makes another." in again.stdout
    other = machine.json("sessions", "import", str(file), "--again")
    assert (other["was_here"], other["session"]["id"] == imported) == (False, False)


def test_it_goes_on_with_what_was_said(machine: Machine, file: Path) -> None:
    session = machine.json("sessions", "import", str(file), "--again")["session"]["id"]
    machine.sim.reset({"steps": [{"text": "said before"}, {"text": "said before"}, {"text": "Violet still."}]})
    ran = machine.run("run", "--session", session, "And now?")
    assert (ran.returncode, ran.stdout.strip()) == (0, "Violet still."), ran.stderr
    sent = json.dumps(machine.sim.requests[-1].body)
    assert "It is violet." in sent
    assert "echo violet; exit 3" in sent
    assert "Forget this" not in sent, "what was taken back stays so"


def test_what_it_cost_is_counted_once_and_on_its_own_day(machine: Machine, file: Path, imported: str) -> None:
    before = machine.json("usage")["total"]["requests"]
    old = json.loads(file.read_text())
    machine.json("sessions", "import", str(file), "--again")
    assert machine.json("usage")["total"]["requests"] == before, "paid here, when it was had"
    old["session"]["id"] = "elsewhere"
    for message in old["messages"]:
        message["created_at"] = 1_700_000_000.0
    (machine.root / "old.json").write_text(json.dumps(old))
    others = _by_activity(machine).get("imported", 0)
    machine.json("sessions", "import", str(machine.root / "old.json"))
    assert _by_activity(machine)["imported"] == others + 3
    days = {row["key"]: row["requests"] for row in machine.json("usage", "--by", "day")["rows"]}
    assert days["2023-11-14"] == 3


def test_a_folder_that_is_gone_and_a_model_that_is_not_to_be_had_keep_nothing_away(
    machine: Machine, file: Path
) -> None:
    moved = json.loads(file.read_text())
    moved["session"] |= {"id": "moved", "cwd": "/nowhere/at/all", "model": "nobody/nothing"}
    moved["session"]["settings"] |= {"model": "nobody/nothing", "mode": "full"}
    (machine.root / "moved.json").write_text(json.dumps(moved))
    here = machine.json("sessions", "import", str(machine.root / "moved.json"))["session"]
    assert (here["cwd"], here["model"], here["settings"]["mode"]) == (str(machine.workspace), MODEL, "auto")
    (machine.root / "there").mkdir()
    there = machine.json("sessions", "import", str(file), "--again", "--cwd", str(machine.root / "there"))["session"]
    assert there["cwd"] == str(machine.root / "there")


def test_a_step_without_its_results_ends_as_after_a_crash(machine: Machine, file: Path) -> None:
    cut = json.loads(file.read_text())
    cut["session"]["id"] = "cut"
    cut |= {"messages": cut["messages"][:2], "turns": [], "rewound": []}
    (machine.root / "cut.json").write_text(json.dumps(cut))
    session = machine.json("sessions", "import", str(machine.root / "cut.json"))["session"]["id"]
    here = machine.json("sessions", "export", session)
    assert [message["role"] for message in here["messages"]] == ["user", "assistant", "tool"]
    assert [end["reason"] for end in here["turns"]] == ["interrupted"]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ('{"session": 1,\n"messages": [,]}', "is broken JSON in line 2: "),
        ("[1, 2]", "is no export of a session."),
        ('{"session": {}, "messages": []}', "is no export of a session: "),
        ('{"version": 7, "session": {}, "messages": []}', "was written by a newer OpenAgent: version 7, "),
        (b"\xff\xfe\x00", "is no export of a session."),
    ],
)
def test_a_file_that_is_no_export_is_told_in_a_sentence(machine: Machine, content: str | bytes, told: str) -> None:
    before = len(machine.json("sessions", "list", "--all")["sessions"])
    bad = machine.root / "bad.json"
    bad.write_bytes(content if isinstance(content, bytes) else content.encode())
    ran = machine.run("sessions", "import", str(bad))
    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr.startswith(f"openagent: {bad} {told}")
    assert "Traceback" not in ran.stderr
    assert len(machine.json("sessions", "list", "--all")["sessions"]) == before


def test_a_gap_in_the_messages_imports_nothing(machine: Machine, file: Path) -> None:
    before = len(machine.json("sessions", "list", "--all")["sessions"])
    gap = json.loads(file.read_text())
    del gap["messages"][1]
    ran = machine.run("sessions", "import", "-", given=json.dumps(gap))
    assert ran.returncode == 1
    assert re.match(r"openagent: Message 2 has the number 3\.", ran.stderr)
    assert len(machine.json("sessions", "list", "--all")["sessions"]) == before


def test_a_file_that_is_not_there(machine: Machine) -> None:
    ran = machine.run("sessions", "import", "/no/such.json")
    assert (ran.returncode, ran.stderr) == (1, "openagent: /no/such.json cannot be read: No such file or directory.\n")


def test_all_sessions_go_out_as_lines_and_come_back_whole(machine: Machine, imported: str, tmp_path: Path) -> None:
    other = machine.turn("Another", script=[shell("echo new > made.txt"), {"text": "Other."}])
    path = tmp_path / "all.jsonl"
    assert machine.run("sessions", "export", "--all", "--format", "jsonl", "--output", str(path)).returncode == 0
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert {other, imported} <= {line["session"]["id"] for line in lines if line["type"] == "session"}
    assert {"message", "turn", "rewound", "event", "end"} <= {line["type"] for line in lines}
    assert "checkpoint.created" in {line["event"]["type"] for line in lines if line["type"] == "event"}
    before = {each: machine.json("sessions", "export", each) for each in (other, imported)}
    assert machine.run("sessions", "delete", "--yes", other, imported).returncode == 0
    torn = tmp_path / "torn.jsonl"
    torn.write_bytes(path.read_bytes()[:-20])
    assert "Nothing of it was imported" in machine.run("sessions", "import", str(torn)).stderr
    back = {
        each["session"]["forked_from"]: each["session"]["id"]
        for each in machine.json("sessions", "import", str(path))["sessions"]
    }
    for each, there in before.items():
        here = machine.json("sessions", "export", back[each])
        for part in ("messages", "turns", "rewound"):
            assert here[part] == there[part], part


def _by_activity(machine: Machine) -> dict[str, int]:
    return {row["key"]: row["requests"] for row in machine.json("usage", "--by", "activity")["rows"]}
