"""`openagent trust`, `policy`, `grants`, `audit`, `workspaces`, `undo` and `sessions diff`."""

import csv
import io
import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from openagent.bash.grammar import VERSION

from .machine import Machine, shell
from .pseudo_terminal import Terminal


def write(path: str, content: str) -> dict[str, Any]:
    return {"tool_calls": [{"name": "write_file", "arguments": {"path": path, "content": content}}]}


@pytest.fixture
def project(machine: Machine, tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / ".openagent").mkdir(parents=True)
    (folder / ".openagent" / "config.toml").write_text('mode = "full"\n')
    return folder


def test_a_folder_is_trusted_listed_and_trusted_no_longer(machine: Machine, project: Path) -> None:
    shown = machine.run("config", "show", "--cwd", str(project))
    assert "`mode` is left out, because the folder is not trusted" in shown.stdout
    ran = machine.run("trust", str(project))
    assert (ran.returncode, ran.stdout) == (0, f"Trusted: {project}\n  .openagent/config.toml\n")
    assert "left out" not in machine.run("config", "show", "--cwd", str(project)).stdout
    (listed,) = machine.json("trust", "--list")["folders"]
    assert (listed["folder"], listed["current"]) == (str(project), True)
    (project / ".openagent" / "config.toml").write_text('mode = "edits"\n')
    assert "changed since" in machine.run("trust", "--list").stdout
    assert machine.run("trust", "--remove", str(project)).returncode == 0
    assert machine.json("trust", "--list") == {"folders": []}
    assert machine.run("trust", "--remove", str(project)).returncode == 1


def test_doctor_tells_what_an_untrusted_project_wants(fresh: Machine) -> None:
    folder = fresh.workspace / ".openagent"
    folder.mkdir()
    (folder / "config.toml").write_text('mode = "full"\n')
    (folder / "policy.toml").write_text('[[rule]]\ndecision = "allow"\ntool = "shell"\n')
    ran = fresh.run("doctor")
    assert ran.returncode == 0
    assert "`mode` is left out" in ran.stdout
    assert "a rule that allows something is left out" in ran.stdout


def test_nothing_starts_with_another_grammar_than_the_one_commands_are_read_with(
    fresh: Machine, tmp_path: Path
) -> None:
    told = tmp_path / "tree_sitter_bash-0.25.0.dist-info"
    told.mkdir()
    (told / "METADATA").write_text("Metadata-Version: 2.1\nName: tree-sitter-bash\nVersion: 0.25.0\n")
    sentence = f"tree-sitter-bash 0.25.0 is installed, and commands are read with {VERSION} only."
    fresh.extra = {"PYTHONPATH": str(tmp_path)}
    ran = fresh.run("doctor")
    assert (ran.returncode, ran.stdout.count(sentence)) == (1, 1)
    ran = fresh.run("serve")
    assert (ran.returncode, ran.stderr.count(sentence), ran.stderr.count("\n")) == (1, 1, 1)


def test_the_grammar_is_pinned_to_what_it_is_checked_for() -> None:
    root = Path(__file__).parents[2]
    runtime = tomllib.loads((root / "pyproject.toml").read_text())["project"]["dependencies"]
    assert f"tree-sitter-bash=={VERSION}" in runtime
    assert f"\ntree-sitter-bash=={VERSION} " in (root / "requirements" / "runtime.txt").read_text()


def test_a_run_in_an_untrusted_project_says_what_was_left_out(machine: Machine, project: Path) -> None:
    machine.sim.reset({"steps": [{"text": "Hi."}]})
    ran = machine.run("run", "--cwd", str(project), "hello")
    assert (ran.returncode, ran.stdout) == (0, "Hi.\n")
    assert ran.stderr.count("`mode` is left out") == 1
    assert f"openagent trust {project}" in ran.stderr


def test_a_command_is_explained_step_by_step(machine: Machine, tmp_path: Path) -> None:
    here = ("policy", "explain", "--cwd", str(tmp_path))
    ran = machine.run(*here, "--mode", "full", "ls && rm -rf /")
    assert ran.returncode == 0
    assert ran.stdout.startswith("In full mode: deny, high risk. ")
    found = machine.json(*here, "--mode", "ask", "touch a")
    assert (found["ruling"]["decision"], found["mode"], found["notices"]) == ("ask", "ask", [])
    assert machine.json(*here, "ls -la")["ruling"]["decision"] == "allow"


def test_the_rules_examples_are_tested(machine: Machine, project: Path, tmp_path: Path) -> None:
    assert machine.run("policy", "test", "--cwd", str(tmp_path)).returncode == 0
    rules = project / ".openagent" / "policy.toml"
    rules.write_text('[[rule]]\ndecision = "deny"\ncommand = "ls"\nmatch = ["cat x"]\n')
    failed = machine.run("policy", "test", "--cwd", str(project))
    assert failed.returncode == 1
    assert "does not meet its own example: 'cat x'" in failed.stdout


def test_a_session_is_shown_as_a_diff_and_rewound(machine: Machine) -> None:
    session = machine.turn("make it", script=[write("made.txt", "one\n"), {"text": "ok"}])
    shown = machine.run("sessions", "diff", session).stdout
    assert shown.splitlines()[0] == "A made.txt  +1 −0"
    assert "+one" in shown
    assert [file["path"] for file in machine.json("sessions", "diff", session, "--turn", "1")["files"]] == ["made.txt"]
    ran = machine.run("undo", session, "--turn", "1")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "0 written, 1 removed." in ran.stdout
    assert not (machine.workspace / "made.txt").exists()
    assert machine.run("undo", session, "--turn", "7").returncode == 1
    assert machine.run("undo", session, "--turn", "1", "--no-files").returncode == 2


def test_what_was_taken_back_is_marked_and_comes_back_with_the_command_that_is_printed(machine: Machine) -> None:
    session = machine.turn("make it", script=[write("made.txt", "one\n"), {"text": "ok"}])
    ran = machine.run("undo", session, "--turn", "1", "--conversation")
    mark = "taken back by a rewind"
    assert mark in machine.run("sessions", "show", session).stdout
    assert "Taken back by a rewind" in machine.run("sessions", "export", session, "--format", "markdown").stdout
    exported = machine.json("sessions", "export", session)
    assert exported["rewound"] == [[1, len(exported["messages"])]]
    command = next(line for line in ran.stdout.splitlines() if "openagent redo" in line).partition("openagent ")[2]
    again = machine.run(*command.split())
    assert (again.returncode, again.stderr) == (0, "")
    assert (machine.workspace / "made.txt").read_text() == "one\n"
    assert mark not in machine.run("sessions", "show", session).stdout
    assert machine.run(*command.split()).returncode == 1


def test_what_others_changed_since_is_said_and_taken_back_only_when_asked_for(machine: Machine) -> None:
    session = machine.turn("make it", script=[write("theirs.txt", "one\n"), {"text": "ok"}])
    (machine.workspace / "theirs.txt").write_text("by hand\n")
    assert "others have changed it since" in machine.run("sessions", "diff", session, "--names").stdout
    ran = machine.run("undo", session)
    assert ran.returncode == 1
    assert ran.stdout.startswith("Undid nothing of turn 1")
    assert "theirs.txt was left as it is: changed by others since" in ran.stdout
    assert (machine.workspace / "theirs.txt").read_text() == "by hand\n"
    forced = machine.run("undo", session, "theirs.txt", "--overwrite-others")
    assert "0 written, 1 removed." in forced.stdout
    assert not (machine.workspace / "theirs.txt").exists()


def test_the_audit_trail_is_shown_and_exported(machine: Machine) -> None:
    script = [shell("echo =1+1"), write("noted.txt", "12345"), {"text": "ok"}]
    session = machine.turn("do it", script=script)
    (machine.workspace / "noted.txt").unlink()
    ran = machine.run("audit", "--session", session, "--json")
    rows = json.loads(ran.stdout)["entries"]
    assert [row["kind"] for row in rows] == ["file_written", "decision", "command", "decision", "message", "session"]
    assert {row["detail"]["by"] for row in rows} == {"run"}
    assert rows[0]["detail"]["bytes"] == 5
    exported = machine.run("audit", "--session", session, "--kind", "command", "--csv").stdout
    (row,) = csv.DictReader(io.StringIO(exported))
    assert (row["subject"], json.loads(row["detail"])["exit_code"]) == ("echo =1+1", 0)
    shown = machine.run("audit", "--kind", "file_written", "--since", "1h").stdout
    assert "noted.txt (5 bytes)" in shown
    assert machine.run("audit", "--since", "whenever").returncode == 2


def test_the_audit_trail_shows_no_number_that_nobody_knows(fresh: Machine) -> None:
    config = fresh.root / "config.toml"
    config.write_text("[jail]\nbackground_after = 0.1\n")
    fresh.extra = {"OPENAGENT_CONFIG": str(config)}
    session = fresh.turn("do it", script=[shell("sleep 60"), {"text": "ok"}])
    shown = fresh.run("audit", "--session", session, "--kind", "command").stdout
    assert "sleep 60 (" in shown
    assert "None" not in shown
    assert "in the background" in shown


def test_what_a_person_granted_is_listed_with_its_words_and_revoked(machine: Machine) -> None:
    machine.sim.reset([shell("make test -k"), {"text": "Tried."}])
    assert machine.run("grants").stdout == "Nothing is allowed beyond what the mode and the rules allow.\n"
    with Terminal(machine, "run", "--mode", "ask", "test it") as terminal:
        assert (
            "[s] `make test` with any arguments, unless they change what it does, for the rest of this session."
            in terminal.until("[d] Deny it.")
        )
        terminal.enter("s\n")
        terminal.until("Tried.")
    (grant,) = machine.json("grants", "list")["grants"]
    assert (grant["scope"], grant["by"], grant["covers"]) == (
        "session",
        "run",
        "`make test` with any arguments, unless they change what it does.",
    )
    shown = machine.run("grants", "list", "--session", grant["session"]).stdout
    assert f"session {grant['session'][:12]}" in shown
    assert "`make test` with any arguments, unless they change what it does." in shown
    assert "asks for it again" not in shown
    revoked = machine.run("grants", "revoke", grant["id"])
    assert revoked.stdout == f"Revoked: {grant['id']}. Agents ask for it again from now on.\n"
    assert machine.json("grants", "list")["grants"] == []
    refused = machine.run("grants", "revoke", grant["id"])
    assert (refused.returncode, "There is no grant" in refused.stderr) == (1, True)


def test_a_copy_is_made_reviewed_merged_and_removed(machine: Machine, tmp_path: Path) -> None:
    origin = tmp_path / "origin"
    origin.mkdir()
    (origin / "a.txt").write_text("one\n")
    copy = machine.json("workspaces", "create", str(origin), "try", "--method", "copy")
    machine.turn("change it", "--cwd", copy["path"], script=[write("a.txt", "two\n"), {"text": "ok"}])
    assert (origin / "a.txt").read_text() == "one\n"
    assert [listed["id"] for listed in machine.json("workspaces", "list", "--cwd", str(origin))["copies"]] == [
        copy["id"]
    ]
    assert "M a.txt  +1 −1" in machine.run("workspaces", "diff", copy["id"]).stdout
    assert machine.run("workspaces", "remove", copy["id"]).returncode == 1
    merged = machine.run("workspaces", "merge", copy["id"])
    assert (merged.returncode, "1 merged, 0 in conflict." in merged.stdout) == (0, True)
    assert (origin / "a.txt").read_text() == "two\n"
    assert machine.json("workspaces", "remove", copy["id"]) == {"removed": copy["id"]}
    refused = machine.run("workspaces", "create", str(origin), "try", "--max-size", "1")
    assert refused.returncode == 1


def test_a_workspace_is_backed_up_and_restored(machine: Machine, tmp_path: Path) -> None:
    origin = tmp_path / "origin"
    (origin / "empty").mkdir(parents=True)
    (origin / "a.txt").write_text("one\n")
    archive, to = tmp_path / "backup.tar.gz", tmp_path / "restored"
    assert machine.run("workspaces", "backup", str(origin), str(archive)).returncode == 0
    assert machine.run("workspaces", "restore", str(archive), str(to)).returncode == 0
    assert (to / "a.txt").read_text() == "one\n"
    assert (to / "empty").is_dir()
    assert machine.json("workspaces", "gc")["freed_bytes"] >= 0
