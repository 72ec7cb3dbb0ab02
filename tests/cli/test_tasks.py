"""`openagent tasks`, on the real program."""

import subprocess

import pytest

from .machine import Machine, shell

COMMANDS = ("list", "show", "add", "edit", "move", "log", "note", "run", "follow", "stop", "import", "remove", "sync")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_task_command_shows_examples(machine: Machine, command: str) -> None:
    ran = machine.run("tasks", command, "--help")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert f"  openagent tasks {command}" in ran.stdout.split("Examples:")[1]
    assert "--json" in ran.stdout


def test_a_task_is_added_shown_moved_edited_synced_and_removed(machine: Machine) -> None:
    assert "There are no such tasks." in machine.run("task", "list").stdout
    first = machine.json("task", "add", "Write it", "--owner", "ann", "--detail", "**Well**\x1b[31m.")
    second = machine.run("task", "add", "Read it").stdout.split()[1]
    assert first["cwd"] == str(machine.workspace)
    shown = machine.run("task", "show", first["id"]).stdout
    assert shown.splitlines()[0] == "Write it"
    assert "**Well**." in shown
    assert machine.json("task", "move", second, "todo", "--first")["position"] < first["position"]
    assert machine.json("task", "move", first["id"], "doing")["state"] == "doing"
    assert machine.json("task", "edit", first["id"], "--title", "Write it all", "--owner", "")["owner"] == ""
    lines = machine.run("task", "list").stdout.splitlines()
    assert lines[0].split() == ["ID", "STATE", "OWNER", "CHANGED", "TITLE"]
    assert lines[1].split() == [first["id"], "doing", "–", "just", "now", "Write", "it", "all"]
    assert [task["id"] for task in machine.json("task", "list", "--state", "todo", "--here")["tasks"]] == [second]

    synced = machine.json("task", "sync")
    assert (synced["tasks"], synced["to_file"]) == (2, 2)
    file = machine.workspace / "docs" / "TASKS.md"
    assert f"- [~] Write it all <!-- task:{first['id']} -->" in file.read_text()
    file.write_text(file.read_text() + "- [x] By hand\n")
    assert "tasks 3, changed on the board 1, in the file 0." in machine.run("task", "sync").stdout
    assert [task["title"] for task in machine.json("task", "list", "--state", "done")["tasks"]] == ["By hand"]
    assert machine.json("task", "remove", first["id"], second) == {"removed": [first["id"], second]}
    missing = machine.run("task", "show", second)
    assert (missing.returncode, f"There is no task '{second}'." in missing.stderr) == (1, True)


def test_without_a_daemon_the_tasks_last_seen_are_told_with_their_age(fresh: Machine) -> None:
    task = fresh.json("task", "add", "Write it", "--detail", "Well.")
    assert fresh.run("stop").returncode == 0
    listed = fresh.run("task", "list")
    assert (listed.returncode, "Write it" in listed.stdout) == (0, True)
    assert "Offline, as last seen just now. No daemon is running." in listed.stderr
    assert "Well." in fresh.run("task", "show", task["id"]).stdout
    seen = fresh.json("task", "list")
    assert (seen["offline"], [each["id"] for each in seen["tasks"]]) == (True, [task["id"]])
    assert fresh.daemon_pid() is None
    assert fresh.json("task", "list", "--fresh")["offline"] is False
    assert fresh.daemon_pid() is not None


def test_tasks_of_a_daemon_elsewhere_are_told_when_it_cannot_be_reached_any_more(fresh: Machine) -> None:
    assert fresh.run("serve", "--daemon", "--web-socket", "127.0.0.1:0").returncode == 0
    url = fresh.json("status")["web_url"]
    token = fresh.json("tokens", "create", "here", "--scope", "chat", "--root", str(fresh.root))["secret"]
    elsewhere = Machine(fresh.root / "away", fresh.sim, {"OPENAGENT_TOKEN": token, "OPENAGENT_CONNECT": url})
    elsewhere.json("task", "add", "Write it")
    assert elsewhere.json("task", "list")["offline"] is False
    assert elsewhere.run("task", "sync").returncode == 1
    fresh.run("stop")
    told = elsewhere.run("task", "list")
    assert (told.returncode, "Write it" in told.stdout) == (0, True)
    assert "Offline, as last seen just now. No daemon answers at" in told.stderr
    assert elsewhere.run("task", "add", "Not now").returncode == 1


def test_a_task_is_run_to_a_branch_and_its_log_is_shown_meanwhile(fresh: Machine) -> None:
    (fresh.root / ".gitconfig").write_text("[user]\n\tname = Ada\n\temail = ada@example.org\n")
    for words in (["init", "-q", "-b", "main"], ["commit", "-q", "--allow-empty", "-m", "first"]):
        subprocess.run(["git", "-C", str(fresh.workspace), *words], check=True, env=fresh.env)
    fresh.sim.reset({"steps": [shell("echo hi > hi.txt"), {"text": "Hi."}, {"text": "Greet\n\nWith a file."}]})
    task = fresh.json("task", "add", "Greet")["id"]
    ran = fresh.run("task", "run", task[:12])
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "Given to an agent: session" in ran.stdout
    branch = fresh.json("task", "show", task)["run"]["branch"]
    assert f"`git merge {branch}` takes it." in ran.stdout
    shown = subprocess.run(
        ["git", "-C", str(fresh.workspace), "log", "-1", "--format=%an %s", "--name-only", branch],
        check=True,
        capture_output=True,
        text=True,
    )
    assert shown.stdout.split() == ["Ada", "Greet", "hi.txt"]
    assert (fresh.workspace / "hi.txt").exists() is False
    again = fresh.run("task", "stop", task)
    assert (again.returncode, "Nothing goes on with it." in again.stderr) == (1, True)
